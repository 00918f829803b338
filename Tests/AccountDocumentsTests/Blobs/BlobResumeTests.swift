import AccountKit
import AccountTesting
import Foundation
import HTTPTypes
import TestScene
import Testing

@testable import AccountDocuments

/// Interrupted downloads, and the service's responses when they resume.
struct BlobResumeTests {
    private static let size = 1_000_000
    private static let bytes = BlobScene.bytes(size)
    /// The length of the whole chunks in 600,000 bytes, which AccountKit stores.
    private static let kept = 600_000 / ChunkSeal.chunkByteCount * ChunkSeal.chunkByteCount

    /// Returns a download that was cut at 60 %, in the state that another process finds.
    private func cut(tag: String? = "\"v1\"") async throws -> BlobScene {
        let scene = try await BlobScene()
        await scene.service.put(Self.bytes, tag: tag)
        await scene.service.fail(.cut(after: 600_000))
        let error = await expectAccountError(.serviceUnavailable) { try await scene.open().blob("a", owner: "o") }
        #expect(error?.description.contains("interrupted after 600000 of 1000000 bytes") == true)
        #expect(try await scene.open().storedBlob("a", owner: "o") == nil)
        await scene.service.forget()
        return scene
    }

    @Test func `Resumes an interrupted blob download`() async throws {
        let scene = try await cut()
        let reports = Reports<Progressed>()
        let blob = try await scene.open().blob("a", owner: "o") { reports.add($0, $1) }
        #expect([UInt8](try await blob.data()) == Self.bytes)
        let requests = await scene.service.requests
        #expect(requests.map { $0.headerFields[.range] } == ["bytes=\(Self.kept)-"])
        #expect(requests.first?.headerFields[.ifRange] == "\"v1\"")
        #expect(requests.first?.headerFields[.acceptEncoding] == "identity")
        #expect(try #require(reports.all.first).completed > Self.kept)
        #expect(reports.all.last == Progressed(completed: Self.size, total: Self.size))
        #expect(scene.files.count == 1)
    }

    /// A response other than the right range, and the number of requests that follow.
    struct Answer: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let fault: BlobService.Fault
        let requestCount: Int
    }

    private static let wrongAnswers = [
        Answer(testDescription: "200", fault: .ignoresRange, requestCount: 1),
        Answer(testDescription: "416", fault: .status(.rangeNotSatisfiable), requestCount: 2),
        Answer(testDescription: "another range", fault: .part(kept - 1..<size, [:]), requestCount: 2),
        Answer(testDescription: "a later range", fault: .part(kept + 1..<size, [:]), requestCount: 2),
        Answer(testDescription: "from the start", fault: .part(0..<size, [:]), requestCount: 2),
        Answer(testDescription: "another tag", fault: .part(kept..<size, [.eTag: "\"v2\""]), requestCount: 2),
        Answer(testDescription: "a weak tag", fault: .part(kept..<size, [.eTag: "W/\"v1\""]), requestCount: 2),
        Answer(testDescription: "no tag", fault: .part(kept..<size, [.eTag: nil]), requestCount: 2),
        Answer(testDescription: "no range", fault: .part(kept..<size, [.contentRange: nil]), requestCount: 2),
        Answer(
            testDescription: "another total",
            fault: .part(kept..<size, [.contentRange: "bytes \(kept)-\(size - 1)/\(size + 1)"]), requestCount: 2),
        Answer(
            testDescription: "beyond the total", fault: .part(kept..<size, [.contentRange: "bytes \(kept)-\(size)/*"]),
            requestCount: 2),
        Answer(
            testDescription: "another length", fault: .part(kept..<size, [.contentLength: "5"]), requestCount: 2),
        Answer(
            testDescription: "several ranges",
            fault: .part(kept..<size, [.contentRange: nil, .contentType: "multipart/byteranges; boundary=x"]),
            requestCount: 2),
    ]

    @Test(arguments: wrongAnswers)
    func `Restarts a blob download if the service returns a wrong range`(_ answer: Answer) async throws {
        let scene = try await cut()
        await scene.service.fail(answer.fault)
        let blob = try await scene.open().blob("a", owner: "o")
        #expect([UInt8](try await blob.data()) == Self.bytes)
        let ranges = await scene.service.ranges
        #expect(ranges == Array(["bytes=\(Self.kept)-", nil].prefix(answer.requestCount)))
        #expect(scene.files.count == 1)
    }

    @Test(arguments: [401, 403, 412, 429, 500, 503, 511, 302])
    func `Keeps the stored part of a blob after an error or a web page`(_ status: Int) async throws {
        let scene = try await cut()
        await scene.service.fail(.status(.init(code: status)))
        await #expect(throws: AccountError.self) { try await scene.open().blob("a", owner: "o") }
        let html: HTTPFields = [.contentType: "text/html", .contentLength: "6"]
        await scene.service.fail(.status(.ok, html, "<html>"))
        await expectAccountError(.serviceUnavailable) { try await scene.open().blob("a", owner: "o") }
        await scene.service.forget()
        #expect([UInt8](try await scene.open().blob("a", owner: "o").data()) == Self.bytes)
        #expect(await scene.service.ranges == ["bytes=\(Self.kept)-"])
    }

    @Test func `Accepts a Content-Range without a total length`() async throws {
        let scene = try await cut()
        let field = "bytes \(Self.kept)-\(Self.size - 1)/*"
        await scene.service.fail(.part(Self.kept..<Self.size, [.contentRange: field]))
        let blob = try await scene.open().blob("a", owner: "o")
        #expect([UInt8](try await blob.data()) == Self.bytes)
        #expect(await scene.service.requests.count == 1)
    }

    @Test func `Continues a download after a short range, and fails without progress`()
        async throws
    {
        let scene = try await cut()
        let middle = Self.kept + 2 * ChunkSeal.chunkByteCount
        await scene.service.fail(.part(Self.kept..<middle + 7, [:]))
        let blob = try await scene.open().blob("a", owner: "o")
        #expect([UInt8](try await blob.data()) == Self.bytes)
        #expect(await scene.service.ranges == ["bytes=\(Self.kept)-", "bytes=\(middle)-"])

        let other = try await cut()
        await other.service.fail(.part(Self.kept..<Self.kept + 7, [:]))
        await expectAccountError(.requestRefused) { try await other.open().blob("a", owner: "o") }
        #expect(await other.service.requests.count == 1)
        #expect(other.files.isEmpty)
    }

    @Test(arguments: [nil, "W/\"v1\"", "v1", "\"" + String(repeating: "x", count: 600) + "\""])
    func `Stores no part of a blob without a reliable entity tag`(_ tag: String?) async throws {
        let scene = try await cut(tag: tag)
        #expect(scene.files.isEmpty)
        #expect([UInt8](try await scene.open().blob("a", owner: "o").data()) == Self.bytes)
        #expect(await scene.service.ranges == [nil])
    }

    @Test func `Fetches damaged or missing chunks of a blob again`() async throws {
        // Flip a bit in the record, in the third chunk, and in the last chunk.
        for offset in [100, BlobFormat.contentOffset + 2 * ChunkSeal.sealedChunkByteCount + 9, -1] {
            let scene = try await cut()
            let path = try #require(scene.partialFiles.first)
            try scene.flip(path, at: offset < 0 ? try scene.scene.bytes(path).count - 1 : offset)
            #expect([UInt8](try await scene.open().blob("a", owner: "o").data()) == Self.bytes)
            let kept =
                offset == 100 ? nil : offset < 0 ? Self.kept - ChunkSeal.chunkByteCount : 2 * ChunkSeal.chunkByteCount
            #expect(await scene.service.ranges == [kept.map { "bytes=\($0)-" }])
        }
        let scene = try await cut()
        let path = try #require(scene.partialFiles.first)
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.truncate(atOffset: UInt64(BlobFormat.contentOffset + 3 * ChunkSeal.sealedChunkByteCount + 5))
        try file.seekToEnd()
        // A power cut can leave zeros in place of data.
        try file.write(contentsOf: Data(count: 2 * ChunkSeal.sealedChunkByteCount))
        try file.close()
        #expect([UInt8](try await scene.open().blob("a", owner: "o").data()) == Self.bytes)
        #expect(await scene.service.ranges == ["bytes=\(3 * ChunkSeal.chunkByteCount)-"])
    }

    @Test func `Refuses a blob whose body is too long or has an unknown length`() async throws {
        let scene = try await BlobScene()
        await scene.service.put(Self.bytes)
        await scene.service.fail(
            .whole([.contentLength: "999999"]), .whole([.contentLength: nil]), .whole([.contentLength: "-5"]),
            .whole([.contentLength: "1e6"]), .part(0..<Self.size, [:]))
        for _ in 1...5 {
            await expectAccountError(.requestRefused) { try await scene.open().blob("a", owner: "o") }
            #expect(scene.files.isEmpty)
        }
        // A chunked body marks its own end.
        await scene.service.fail(.whole([.contentLength: nil, .transferEncoding: "chunked"]))
        let reports = Reports<Progressed>()
        let blob = try await scene.open().blob("a", owner: "o") { reports.add($0, $1) }
        #expect([UInt8](try await blob.data()) == Self.bytes)
        #expect(reports.all.last == Progressed(completed: Self.size, total: nil))
        #expect(try await scene.open().storedBlob("a", owner: "o")?.byteCount == Self.size)
    }

    @Test func `Refuses a blob that a server has compressed, but no compressed file`() async throws {
        let scene = try await BlobScene()
        await scene.service.put(Self.bytes)
        for fields in [
            [.contentEncoding: "gzip", .contentLength: nil, .transferEncoding: "chunked"],
            [.contentEncoding: "br", .eTag: "W/\"v1\""], [.contentEncoding: "GZIP", .eTag: nil],
        ] as [[HTTPField.Name: String?]] {
            await scene.service.fail(.whole(fields))
            await expectAccountError(.requestRefused) { try await scene.open().blob("a", owner: "o") }
            #expect(scene.files.isEmpty)
        }
        await scene.service.fail(.whole([.contentEncoding: "x-gzip"]))
        #expect([UInt8](try await scene.open().blob("a", owner: "o").data()) == Self.bytes)
    }

    @Test func `Resumes a cancelled blob download on the next request`() async throws {
        let scene = try await BlobScene()
        await scene.service.put(Self.bytes)
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        await scene.service.beforePiece { position in
            guard position > 500_000 else { return }
            hasBegun.yield()
            try await Task.sleep(for: .seconds(600))
        }
        let blobs = try await scene.open()
        let task = Task { try await blobs.blob("a", owner: "o") }
        for await _ in begun { break }
        task.cancel()
        await expectAccountError(.cancelled) { try await task.value }
        await scene.service.beforePiece(nil)
        await scene.service.forget()
        #expect([UInt8](try await blobs.blob("a", owner: "o").data()) == Self.bytes)
        #expect(await scene.service.ranges.first??.hasPrefix("bytes=") == true)
    }

    @Test(
        arguments: [
            ("bytes 42-1233/1234", 42..<1234, 1234), ("bytes 0-0/1", 0..<1, 1), ("Bytes 5-9/*", 5..<10, nil),
        ] as [(String, Range<Int>, Int?)])
    func `Reads a valid Content-Range`(_ field: String, _ bytes: Range<Int>, _ total: Int?) {
        let range = ContentRange(field)
        #expect(range?.bytes == bytes)
        #expect(range?.total == total)
    }

    @Test(
        arguments: [
            "", "bytes", "bytes */10", "bytes 5-4/10", "bytes 5-10/10", "bytes 5-9", "bytes -5-9/10", "bytes 5-/10",
            "items 5-9/10", "bytes 5-9/10/11", "bytes 5-9/-1", "bytes +5-9/10", "bytes 5-9/", "bytes 5 - 9/10",
            "bytes 0-9223372036854775807/*", "bytes 0-9223372036854775808/*", "bytes 5–9/10", "bytes ٥-٩/*",
        ])
    func `Rejects an invalid Content-Range`(_ field: String) { #expect(ContentRange(field) == nil) }
}
