import AccountCommands
import AccountHTTP
import AccountKit
import AccountDocuments
import ArgumentParser
import Foundation
import Inventory

/// An inventory with photos: a document of the app and the files that belong to it. A confirmed change survives a crash
/// and a power cut. The tool requires no account, and can encrypt everything with one.
@main struct Homepwner: AsyncParsableCommand, AccountApplication {
    static let identifier = "com.example.homepwner"
    static let acceptsIssuer = true
    static let configuration = CommandConfiguration(
        commandName: "homepwner",
        abstract: "Keep a list of what you own, with photos.",
        discussion: """
            All data is in the folder $HOMEPWNER_HOME, or in ~/.local/share/com.example.homepwner: the items are in \
            Documents/Items.plist, a property list that any program can read, and their photos are in Documents/Items.

            With an account, the items and their photos can be sealed, so that no file contains readable parts of them: \
            use --sealed when you add the first item, or run `homepwner seal`. Sealed items can be used only while you \
            are signed in. When you sign out, the key is destroyed, and the items are lost: export them first.

            With --json, `list` prints {"items": [ITEM, ...]} and `show` prints one ITEM: {"id", "name", "serial", \
            "value", "createdAt", "photo"}. "value" is a whole number, "createdAt" is an ISO 8601 date in UTC, and \
            "photo" says whether the item has a photo. "serial" and "value" are left out if the item has none.

            Exit codes: 0 done, 64 usage, 65 the items are damaged or in two places, 74 input or output error, \
            75 another process is using the items, 77 the items are sealed: sign in first.
            """,
        subcommands: [
            Add.self, List.self, Show.self, Edit.self, Remove.self, Photo.self, Export.self, Import.self,
            Seal.self, AccountCommand<Homepwner>.self,
        ])

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        guard let issuer = options.service.issuer else {
            throw AccountError(.invalidArgument, "specify the service: --issuer URL")
        }
        return try OAuthAuthority(
            issuer: issuer, clientID: options.service.clientID ?? "account-cli",
            scopes: options.service.exactScopes, additionalScopes: options.service.additionalScopes,
            timeout: options.timeout, logger: options.logger)
    }

    static func linkedStorage(of store: AccountStore) async throws -> (any AccountLinkedStorage)? {
        guard try await isSealed(for: store) else { return nil }
        return try await sealedItems(of: store).linkedStorage { inventory in
            let count = inventory.items.count
            return count == 0 ? nil : "\(count) item\(count == 1 ? " that is" : "s that are") kept only on this machine"
        }
    }
}
