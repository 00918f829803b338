import AccountCommands
import AccountHTTP
import AccountKit
import AccountOffline
import ArgumentParser
import Foundation
import Logging

/// What is in the house, with photos: a document of the app's own, and files that belong to it. What a command has confirmed
/// survives its death and a power cut. No account is needed; with one, all of it can be sealed.
@main struct Homepwner: AsyncParsableCommand, AccountApplication {
    static let identifier = "com.example.homepwner"
    static let acceptsIssuer = true
    static let configuration = CommandConfiguration(
        commandName: "homepwner",
        abstract: "Keep a list of what you own, with photos.",
        discussion: """
            Everything is in the folder $HOMEPWNER_HOME, or in ~/.local/share/com.example.homepwner: the items in \
            Documents/Items.plist, a property list that any program can read, and their photos in Documents/Items.

            With an account, the items and their photos can be sealed, so that nothing of them is legible in any file: with \
            --sealed when the first are added, or with `homepwner seal`. Then they can be used while you are signed in. Signing \
            out destroys the key, and with it the items: export them first.

            With --json, `list` prints {"items": [ITEM, ...]} and `show` prints one ITEM: {"id", "name", "serial", \
            "value", "createdAt", "photo"}. "value" is a whole number, "createdAt" a date as in ISO 8601, in UTC, "photo" \
            says whether there is one; "serial" and "value" are left out where there is none.

            Exit codes: 0 done, 64 usage, 65 the items are damaged, or in two places, 74 input or output error, 75 another process \
            is busy with them, 77 they are sealed: sign in first.
            """,
        subcommands: [
            Add.self, List.self, Show.self, Edit.self, Remove.self, Photo.self, Export.self, Import.self,
            Seal.self, AccountCommand<Homepwner>.self,
        ])

    static func authority(
        for service: AccountService, timeout: Duration, logger: Logger?
    ) throws(AccountError) -> any AccountAuthority {
        guard let issuer = service.issuer else {
            throw AccountError(.invalidArgument, "say which service to sign in to: --issuer URL")
        }
        return try OAuthAuthority(
            issuer: issuer, clientID: service.clientID ?? "account-cli",
            scopes: service.exactScopes, additionalScopes: service.additionalScopes, timeout: timeout, logger: logger)
    }

    static func linkedStorage(of store: AccountStore) async throws -> (any AccountLinkedStorage)? {
        guard try await isSealed(for: store) else { return nil }
        return try await sealedItems(of: store).linkedStorage { items in
            items.isEmpty
                ? nil : "\(items.count) item\(items.count == 1 ? " that is" : "s that are") kept only on this machine"
        }
    }
}
