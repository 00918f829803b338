import AccountKit
import AccountTesting
import Foundation
import HTTPTypes
import TestScene
import Testing

@testable import AccountDocuments

/// The users of blobs, the protection of their files, and responses that are not stored.
struct BlobPrivacyTests {
    private static let marker = "MARKER-9d2e40"
    private static let text = Array(String(repeating: marker + "\n", count: 20_000).utf8)

    @Test func `Encrypts the content and name of a blob in private files`()
        async throws
    {
        let scene = try await BlobScene()
        let blobs = try await scene.open()
        for id in ["whole", "cut"] {
            await scene.service.put(
                Self.text, Self.marker + id, tag: "\"\(Self.marker)\"", type: "text/plain; x=\(Self.marker)")
        }
        _ = try await blobs.blob(Self.marker + "whole", owner: Self.marker).data()
        await scene.service.fail(.cut(after: 200_000))
        await expectAccountError(.serviceUnavailable) {
            try await blobs.blob(Self.marker + "cut", owner: Self.marker)
        }
        let source = try scene.source(Array("sent".utf8))
        try await blobs.upload(contentsOf: source, as: Self.marker + "sent", owner: Self.marker)
        #expect(scene.wholeFiles.count == 2 && scene.partialFiles.count == 1)
        #expect(try scene.scene.files(with: Self.marker) == [])
        for path in scene.files {
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        }
        // Check that the search finds a legible marker.
        try Data(Self.text).write(to: URL(filePath: scene.wholeFiles[0]))
        #expect(try scene.scene.files(with: Self.marker).count == 1)
    }

    @Test func `Removes the blob files on sign-out so that no blob can be read`() async throws {
        let scene = try await BlobScene()
        await scene.service.put(Self.text)
        let blobs = try await scene.open()
        _ = try await blobs.blob("a", owner: "o").data()
        let kept = try scene.scene.bytes(scene.wholeFiles[0])
        try await scene.scene.store.signOut()
        await expectAccountError(.notSignedIn) { try await blobs.blob("a", owner: "o") }
        await expectAccountError(.notSignedIn) { try await blobs.storedBlob("a", owner: "o") }
        await expectAccountError(.notSignedIn) { try await scene.open() }
        await blobs.remove()
        #expect(scene.files.isEmpty)
        // A copy of the file does not open with the key of the next sign-in.
        try await scene.scene.signIn("248289761001")
        let again = try await scene.open()
        _ = try await again.blob("a", owner: "o")
        try kept.write(to: URL(filePath: scene.wholeFiles[0]))
        #expect(try await scene.open().storedBlob("a", owner: "o") == nil)
    }

    @Test func `Hides blobs of another user until that user signs in again`() async throws {
        let scene = try await BlobScene()
        await scene.service.put(Self.text)
        _ = try await scene.open().blob("a", owner: "o")
        try await scene.scene.signIn("bob")
        #expect(try await scene.open().storedBlob("a", owner: "o") == nil)
        try await scene.scene.signIn("248289761001")
        #expect(try await scene.open().storedBlob("a", owner: "o")?.data() == Data(Self.text))
        await scene.scene.endSession()
        await expectAccountError(.notSignedIn) { try await scene.open() }
        try await scene.scene.signIn("248289761001")
        #expect(try await scene.open().storedBlob("a", owner: "o")?.data() == Data(Self.text))
    }

    /// The user signs out before the first byte, in the middle, and before the last chunk.
    @Test(arguments: [0, 100_000, 8_995_000], [true, false])
    func `Does not store a blob that arrives after the user signed out`(_ position: Int, _ isSignOut: Bool) async throws
    {
        let scene = try await BlobScene()
        await scene.service.put(BlobScene.bytes(9_000_100))
        let blobs = try await scene.open()
        await scene.service.beforePiece { [scene = scene.scene] current in
            guard (position..<position + 9973).contains(current) else { return }
            if isSignOut { try await scene.store.signOut() } else { try await scene.signIn("bob") }
        }
        let reports = Reports<Progressed>()
        await expectAccountError(.notSignedIn) { try await blobs.blob("a", owner: "o") { reports.add($0, $1) } }
        #expect(scene.files.isEmpty)
        #expect(reports.all.isEmpty == (position == 0))
    }

    @Test func `Ends a blob download as soon as the user signs out`() async throws {
        let scene = try await BlobScene()
        await scene.service.put(BlobScene.bytes(20_000_000))
        let reports = Reports<Progressed>()
        let blobs = try await scene.open()
        await scene.service.beforePiece { [scene = scene.scene] position in
            if (1...10_000).contains(position) { try await scene.store.signOut() }
        }
        await expectAccountError(.notSignedIn) { try await blobs.blob("a", owner: "o") { reports.add($0, $1) } }
        #expect(try #require(reports.all.last).completed < 10_000_000)
    }

    // MARK: Responses that are not a blob

    private static let page = "<html>\(marker)</html>"

    @Test func `Never stores a captive portal's page as a blob`() async throws {
        let html: HTTPFields = [.contentType: "text/html; charset=utf-8", .contentLength: String(Self.page.utf8.count)]
        var tagged = html
        tagged[.eTag] = "\"page\""
        for (files, fields) in [
            (Files(), html), (Files(accept: "*/*"), html), (Files(accept: "image/png, image/*;q=0.5"), tagged),
            (Files(expected: "\"v1\""), tagged),
        ] {
            let scene = try await BlobScene()
            await scene.service.fail(.status(.ok, fields, Self.page))
            let blobs = try await scene.open(files)
            let error = await #expect(throws: AccountError.self) { try await blobs.blob("a", owner: "o") }
            #expect(error?.code == (files.expected == nil ? .serviceUnavailable : .conflict))
            #expect(scene.files.isEmpty)
        }
        // Here, the page is the requested blob.
        for (files, fields) in [(Files(), tagged), (Files(accept: "text/html"), html)] {
            let scene = try await BlobScene()
            await scene.service.fail(.status(.ok, fields, Self.page))
            #expect(try await scene.open(files).blob("a", owner: "o").data() == Data(Self.page.utf8))
        }
    }

    @Test(
        arguments: [
            (401, .notSignedIn), (403, .requestRefused), (404, .requestRefused), (410, .requestRefused),
            (412, .conflict), (416, .requestRefused), (429, .serviceUnavailable), (500, .serviceUnavailable),
            (503, .serviceUnavailable), (511, .serviceUnavailable), (302, .serviceUnavailable),
            (304, .serviceUnavailable), (204, .requestRefused), (206, .requestRefused), (207, .requestRefused),
        ] as [(Int, AccountError.Code)])
    func `Stores a blob only on success, and removes it only on 404 or 410`(_ status: Int, _ code: AccountError.Code)
        async throws
    {
        let scene = try await BlobScene()
        await scene.service.fail(.status(.init(code: status), [:], #"{"message":"so it is"}"#))
        await expectAccountError(code) { try await scene.open().blob("a", owner: "o") }
        #expect(scene.files.isEmpty)
        await scene.service.put(Self.text)
        _ = try await scene.open().blob("a", owner: "o")
        guard status != 304 else { return }
        await scene.service.fail(.status(.init(code: status), [:], #"{"message":"so it is"}"#))
        await expectAccountError(code) { try await scene.open().refresh("a", owner: "o") }
        #expect(try await (scene.open().storedBlob("a", owner: "o") == nil) == [404, 410].contains(status))
    }

    @Test(
        arguments: [
            (404, ""), (404, "no route"), (404, "<html>not here</html>"), (410, "gone"), (410, "[]"), (404, "{"),
        ])
    func `Keeps a blob if another server responds that it is missing`(_ status: Int, _ body: String) async throws {
        let scene = try await BlobScene()
        await scene.service.put(Self.text)
        let blobs = try await scene.open()
        _ = try await blobs.blob("a", owner: "o")
        await scene.service.fail(.status(.init(code: status), [:], body))
        await expectAccountError(.requestRefused) { try await blobs.refresh("a", owner: "o") }
        #expect(try await blobs.storedBlob("a", owner: "o")?.data() == Data(Self.text))
        #expect(try await blobs.refresh("a", owner: "o").data() == Data(Self.text))
    }

    @Test(
        arguments: [
            [HTTPField.Name("X-Accepted-OAuth-Scopes")!: "files", HTTPField.Name("X-OAuth-Scopes")!: "read:user"],
            [HTTPField.Name("X-GitHub-SSO")!: "required; url=https://github.com/orgs/x/sso"],
        ] as [HTTPFields])
    func `Keeps a blob if the token lacks the permission to find it`(fields: HTTPFields) async throws {
        let scene = try await BlobScene()
        await scene.service.put(Self.text)
        let blobs = try await scene.open()
        _ = try await blobs.blob("a", owner: "o")
        await scene.service.fail(.status(.notFound, fields, #"{"message":"Not Found"}"#))
        let error = await #expect(throws: AccountError.self) { try await blobs.refresh("a", owner: "o") }
        #expect(error?.code == .requestRefused)
        #expect(error?.message.contains("sign in") == true, "\(error?.message ?? "")")
        #expect(try await blobs.storedBlob("a", owner: "o")?.data() == Data(Self.text))
    }

    @Test(arguments: ["/Library", "/Library/Caches", "/Library/Caches/Offline"])
    func `Refuses to store blobs below a folder that others can write to`(place: String) async throws {
        let scene = try await BlobScene()
        await scene.service.put([1, 2, 3], "1")
        _ = try await scene.open().blob("1", owner: "a")
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: scene.scene.root + place)
        let blobs = try await scene.open()
        await expectAccountError(.insecureContainer) { _ = try await blobs.storedBlob("1", owner: "a") }
        await expectAccountError(.insecureContainer) { _ = try await blobs.blob("2", owner: "a") }
    }
}
