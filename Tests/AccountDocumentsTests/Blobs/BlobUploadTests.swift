import AccountKit
import AccountTesting
import Foundation
import HTTPTypes
import TestScene
import Testing

@testable import AccountDocuments

/// Files that are sent to the service.
struct BlobUploadTests {
    @Test(arguments: [0, 1, 65_536, 200_001])
    func `Uploads a file in pieces and stores the file for offline use`(_ count: Int) async throws {
        let scene = try await BlobScene()
        let bytes = BlobScene.bytes(count)
        let blobs = try await scene.open()
        let reports = Reports<Progressed>()
        let tag = try await blobs.upload(contentsOf: try scene.source(bytes), as: "a", owner: "o") {
            reports.add($0, $1)
        }
        #expect(await scene.service.file()?.bytes == bytes)
        #expect(reports.all.count == (count + 65_535) / 65_536)
        if count > 0 { #expect(reports.all.last == Progressed(completed: count, total: count)) }
        await scene.service.goOffline()
        let blob = try await scene.open().blob("a", owner: "o")
        #expect([UInt8](try await blob.data()) == bytes)
        #expect(blob.entityTag == tag)
        #expect(scene.files.count == 1)
    }

    @Test func `Uploads a file above the storage limit without storing the file`() async throws {
        let scene = try await BlobScene()
        let bytes = BlobScene.bytes(100_001)
        let blobs = try await scene.open(maximumByteCount: 100_000)
        #expect(try await blobs.upload(contentsOf: try scene.source(bytes), as: "a", owner: "o") != nil)
        #expect(await scene.service.file()?.bytes == bytes)
        #expect(scene.files.isEmpty)
    }

    @Test func `Uploads conditionally and does not replace another client's version`() async throws {
        let scene = try await BlobScene()
        let blobs = try await scene.open()
        let source = try scene.source(BlobScene.bytes(100_000))
        let tag = try #require(try await blobs.upload(contentsOf: source, as: "a", owner: "o", if: .absent))
        #expect(await scene.service.requests.last?.headerFields[.ifNoneMatch] == "*")
        await expectAccountError(.conflict) {
            try await blobs.upload(contentsOf: source, as: "a", owner: "o", if: .absent)
        }
        await scene.service.put([1, 2, 3], tag: "\"theirs\"")
        await expectAccountError(.conflict) {
            try await blobs.upload(contentsOf: source, as: "a", owner: "o", if: .unchanged(entityTag: tag))
        }
        #expect(await scene.service.requests.last?.headerFields[.ifMatch] == tag)
        #expect(await scene.service.file()?.bytes == [1, 2, 3])
        // The stored version is still the previous one.
        #expect(try await blobs.storedBlob("a", owner: "o")?.entityTag == tag)
        #expect(scene.files.count == 1)
        try await blobs.upload(contentsOf: source, as: "a", owner: "o", if: .unchanged(entityTag: "\"theirs\""))
        #expect(await scene.service.file()?.bytes.count == 100_000)
    }

    @Test func `Downloads an uploaded file on demand if the service sent no entity tag`() async throws {
        let scene = try await BlobScene()
        let blobs = try await scene.open()
        let source = try scene.source(BlobScene.bytes(100_000))
        await scene.service.put([1])
        _ = try await blobs.blob("a", owner: "o")
        await scene.service.fail(.status(.noContent))
        #expect(try await blobs.upload(contentsOf: source, as: "a", owner: "o") == nil)
        #expect(scene.files.isEmpty)
        await scene.service.put([2])
        #expect(try await blobs.blob("a", owner: "o").data() == Data([2]))
    }

    @Test(
        arguments: [
            (200, [.contentType: "text/html"], "<html>Welcome</html>"), (200, [:], ""), (200, [:], "OK"),
            (201, [.contentType: "text/html; charset=utf-8"], "<html>"), (204, [.contentType: "text/html"], ""),
            (202, [:], "later"), (200, [.contentType: "text/html", .eTag: "\"page\""], "<html>Welcome</html>"),
        ] as [(Int, HTTPFields, String)])
    func `Does not count an upload as done if another server responds`(
        status: Int, fields: HTTPFields, body: String
    ) async throws {
        let scene = try await BlobScene()
        await scene.service.put([1])
        let blobs = try await scene.open()
        _ = try await blobs.blob("a", owner: "o")
        let source = try scene.source(BlobScene.bytes(100_000))
        await scene.service.fail(.status(.init(code: status), fields, body))
        await expectAccountError(.serviceUnavailable) {
            try await blobs.upload(contentsOf: source, as: "a", owner: "o")
        }
        #expect(try await blobs.storedBlob("a", owner: "o")?.data() == Data([1]))
        #expect(scene.files.count == 1)
    }

    @Test func `Does not store a file whose upload failed`() async throws {
        let scene = try await BlobScene()
        let blobs = try await scene.open()
        let source = try scene.source(BlobScene.bytes(100_000))
        for (status, code) in [
            (401, .notSignedIn), (403, .requestRefused), (404, .requestRefused), (507, .serviceUnavailable),
            (302, .serviceUnavailable),
        ] as [(Int, AccountError.Code)] {
            await scene.service.fail(.status(.init(code: status)))
            await expectAccountError(code) { try await blobs.upload(contentsOf: source, as: "a", owner: "o") }
        }
        await expectAccountError(.inaccessible) {
            try await blobs.upload(contentsOf: source + ".none", as: "a", owner: "o")
        }
        await scene.service.goOffline()
        await expectAccountError(.serviceUnavailable) {
            try await blobs.upload(contentsOf: source, as: "a", owner: "o")
        }
        #expect(scene.files.isEmpty)
    }

    @Test func `Fails an upload if the file becomes shorter during the upload`()
        async throws
    {
        let scene = try await BlobScene()
        let source = try scene.source(BlobScene.bytes(300_000))
        let blobs = try await scene.open()
        await expectAccountError(.inaccessible) {
            try await blobs.upload(contentsOf: source, as: "a", owner: "o") { completed, _ in
                if completed == 65_536 { truncate(source, 100_000) }
            }
        }
        #expect(scene.files.isEmpty)
        #expect(await scene.service.file() == nil)
    }

    @Test func `Does not replace a newer upload with a download in progress`() async throws {
        let scene = try await BlobScene()
        await scene.service.put(BlobScene.bytes(100_000))
        let blobs = try await scene.open()
        let new = BlobScene.bytes(50_000, seed: 2)
        let source = try scene.source(new)
        let isSent = Reports<Bool>()
        await scene.service.beforePiece { position in
            guard position > 50_000, isSent.all.isEmpty else { return }
            isSent.add(true)
            try await blobs.upload(contentsOf: source, as: "a", owner: "o")
        }
        #expect([UInt8](try await blobs.blob("a", owner: "o").data()) == new)
        #expect([UInt8](try await scene.open().blob("a", owner: "o").data()) == new)
        #expect(scene.files.count == 1)
    }

    @Test func `Completes an upload if the user signs out or the caches are removed`() async throws {
        let scene = try await BlobScene()
        let source = try scene.source(BlobScene.bytes(100_000))
        for isSignOut in [false, true] {
            let blobs = try await scene.open()
            await scene.service.beforePiece { [scene = scene.scene] _ in
                if isSignOut {
                    try await scene.store.signOut()
                } else {
                    try FileManager.default.removeItem(atPath: scene.root + "/Library/Caches")
                }
            }
            try await blobs.upload(contentsOf: source, as: "a", owner: "o")
            #expect(scene.files.isEmpty)
            #expect(await scene.service.file()?.bytes.count == 100_000)
        }
    }
}
