import AccountKit
import Foundation
import Testing

/// An archive written by version 1, for the app `com.example.gists`, the session `work`, and the key of the bytes 0 to
/// 31. Its other slot is for the passphrase "correct horse battery staple".
enum GoldenArchive {
    static let url = PythonReader.folder.deletingLastPathComponent()
        .appending(path: "AccountCryptoTests/Fixtures/golden-v1.plist")

    static let account = Account(
        id: "248289761001", issuer: "https://auth.example.com", username: "alice",
        credentials: Credentials(
            accessToken: Secret("golden-access-token"), refreshToken: Secret("golden-refresh-token"),
            idToken: Secret("golden-id-token"), scopes: ["openid", "profile"], clientID: "golden",
            issuedAt: Date(timeIntervalSince1970: 1_767_323_045), expiresAt: Date(timeIntervalSince1970: 1_767_326_645)),
        profile: [
            "name": "Alice Liddell", "nickname": "Älice 🐇", "email_verified": true, "points": 42, "ratio": 0.5,
            "registered_at": .date(Date(timeIntervalSince1970: 1_262_304_000)),
            "picture_hash": .data(Data([0xCA, 0xFE])),
            "groups": ["readers", "writers"], "address": ["country": "GB"],
        ], verifiedAt: Date(timeIntervalSince1970: 1_767_323_046))
}

struct GoldenArchiveTests {
    @Test func `Opens and changes the golden archive with a store`() async throws {
        let home = try TemporaryFolder()
        let container = try AppContainer(root: home.url.path, identifier: "com.example.gists")
        let folder = container.documents.appending(path: "Sessions/work")
        let keys = container.keys.appending(path: "Sessions/work")
        for folder in [folder, keys] {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        try FileManager.default.copyItem(at: GoldenArchive.url, to: folder.appending(path: "Account.plist"))
        let key = keys.appending(path: "Account.key")
        try Data(0..<32).write(to: key)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key.path)

        let session = try SessionName("work")
        let store = AccountStore(container: container, session: session)
        #expect(await store.load() == .unverified(GoldenArchive.account, UnverifiedReason(.notChecked)))
        try await store.update { $0.profile["points"] = 43 }
        let changed = AccountStore(container: container, session: session)
        _ = await changed.load()
        #expect(changed.account?.profile["points"] == 43)
        #expect(changed.account?.credentials == GoldenArchive.account.credentials)
    }

    @Test func `Documents the golden archive as the example of the format page`() throws {
        let page = try String(
            contentsOf: PythonReader.folder.appending(path: "../../Sources/AccountKit/AccountKit.docc/ArchiveFormat.md")
                .standardizedFileURL, encoding: .utf8)
        let block = try #require(page.split(separator: "```base64\n").last?.split(separator: "```").first)
        let file = try Data(contentsOf: GoldenArchive.url)
        #expect(Data(base64Encoded: String(block), options: .ignoreUnknownCharacters) == file)
    }
}

/// A private temporary folder that is removed together with this value.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "account-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        // If the removal fails, the folder is left in the temporary directory.
        try? FileManager.default.removeItem(at: url)
    }
}
