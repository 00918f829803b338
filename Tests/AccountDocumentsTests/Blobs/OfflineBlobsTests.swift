import AccountKit
import AccountTesting
import Foundation
import HTTPTypes
import TestScene
import Testing

@testable import AccountDocuments

/// Blobs from the service, from the disk and from memory.
struct OfflineBlobsTests {
    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 131_072, 300_000])
    func `Downloads a blob of any size once, and later reads the blob offline`(_ count: Int) async throws {
        let scene = try await BlobScene()
        let bytes = BlobScene.bytes(count)
        await scene.service.put(bytes, type: "image/png")
        let reports = Reports<Progressed>()
        let first = try await scene.open().blob("a", owner: "o") { reports.add($0, $1) }
        #expect(first.byteCount == count)
        #expect([UInt8](try await first.data()) == bytes)
        if count > 0 {
            #expect(reports.all.last == Progressed(completed: count, total: count))
            #expect(zip(reports.all, reports.all.dropFirst()).allSatisfy { $0.completed < $1.completed })
        }
        await scene.service.goOffline()
        let again = try await scene.open().blob("a", owner: "o")
        #expect(again.entityTag == "\"v1\"")
        #expect(again.contentType == "image/png")
        #expect([UInt8](try await again.data()) == bytes)
        try await again.export(to: scene.scene.root + "/copy")
        #expect([UInt8](try scene.scene.bytes(scene.scene.root + "/copy")) == bytes)
        #expect(await scene.service.requests.count == 1)
        #expect(scene.files.count == 1)
        #expect(try scene.scene.bytes(scene.files[0]).count == BlobFormat.fileByteCount(of: count))
    }

    @Test func `Throws an error for a blob that is neither stored nor available`() async throws {
        let scene = try await BlobScene()
        let blobs = try await scene.open()
        #expect(try await blobs.storedBlob("a", owner: "o") == nil)
        await expectAccountError(.requestRefused) { try await blobs.blob("a", owner: "o") }
        await scene.service.goOffline()
        let error = await expectAccountError(.serviceUnavailable) { try await blobs.blob("a", owner: "o") }
        #expect(error?.description.contains("cut") == false)
        #expect(scene.wholeFiles.isEmpty)
    }

    @Test func `Shares one blob download among concurrent callers`() async throws {
        let scene = try await BlobScene()
        let bytes = BlobScene.bytes(200_000)
        await scene.service.put(bytes)
        let blobs = [try await scene.open(), try await scene.open()]
        try await withThrowingTaskGroup(of: Data.self) { group in
            for number in 0..<6 {
                group.addTask { try await blobs[number % 2].blob("a", owner: "o").data() }
            }
            for try await data in group { #expect([UInt8](data) == bytes) }
        }
        #expect(await scene.service.requests.count == 1)
        #expect(scene.files.count == 1)
    }

    @Test func `Refreshes a blob conditionally, and replaces it after the download`() async throws {
        let scene = try await BlobScene()
        await scene.service.put(BlobScene.bytes(100_000))
        let blobs = try await scene.open()
        let first = try await blobs.blob("a", owner: "o")
        #expect(try await blobs.refresh("a", owner: "o").record == first.record)
        #expect(await scene.service.requests.last?.headerFields[.ifNoneMatch] == "\"v1\"")
        #expect(scene.files.count == 1)

        let new = BlobScene.bytes(150_000, seed: 2)
        await scene.service.put(new, tag: "\"v2\"")
        await scene.service.fail(.cut(after: 90_000))
        await expectAccountError(.serviceUnavailable) { try await blobs.refresh("a", owner: "o") }
        #expect(try await blobs.blob("a", owner: "o").entityTag == "\"v1\"")
        let second = try await blobs.refresh("a", owner: "o")
        #expect([UInt8](try await second.data()) == new)
        #expect(await scene.service.ranges.last == "bytes=65536-")
        #expect([UInt8](try await blobs.blob("a", owner: "o").data()) == new)
        await expectAccountError(.damaged) { try await first.export(to: scene.scene.root + "/copy") }

        await scene.service.delete()
        await expectAccountError(.requestRefused) { try await blobs.refresh("a", owner: "o") }
        #expect(try await blobs.storedBlob("a", owner: "o") == nil)
        #expect(scene.files.isEmpty)
    }

    @Test func `Does not read a replaced blob through its old value`() async throws {
        let scene = try await BlobScene()
        await scene.service.put(BlobScene.bytes(100_000))
        let blobs = try await scene.open()
        let first = try await blobs.blob("a", owner: "o")
        let new = BlobScene.bytes(100_000, seed: 2)
        await scene.service.put(new, tag: "\"v2\"")
        _ = try await blobs.refresh("a", owner: "o")
        await expectAccountError(.damaged) { try await first.data() }
        #expect([UInt8](try #require(try await blobs.storedBlob("a", owner: "o")?.data())) == new)
    }

    @Test func `Does not return a damaged blob, and fetches the blob again`() async throws {
        let scene = try await BlobScene()
        let bytes = BlobScene.bytes(200_000)
        await scene.service.put(bytes)
        for offset in [3, 100, 2500, BlobFormat.contentOffset + 70_000] {
            let blobs = try await scene.open()
            _ = try await blobs.blob("a", owner: "o")
            try scene.flip(scene.wholeFiles[0], at: offset)
            if offset > BlobFormat.contentOffset {
                let blob = try await blobs.blob("a", owner: "o")
                await expectAccountError(.damaged) { try await blob.export(to: scene.scene.root + "/copy") }
                #expect(!scene.scene.files.contains { $0.hasSuffix("/copy") })
            }
            await scene.service.forget()
            #expect([UInt8](try await blobs.blob("a", owner: "o").data()) == bytes)
            #expect(await scene.service.requests.count == 1)
        }
    }

    @Test func `Rejects a truncated or swapped blob file`() async throws {
        let scene = try await BlobScene()
        let bytes = BlobScene.bytes(200_000)
        await scene.service.put(bytes)
        await scene.service.put(BlobScene.bytes(200_000, seed: 2), "b")
        let blobs = try await scene.open()
        _ = try await blobs.blob("a", owner: "o")
        let path = scene.wholeFiles[0]
        _ = try await blobs.blob("b", owner: "o")
        let other = try #require(scene.wholeFiles.first { $0 != path })
        try scene.scene.bytes(other).write(to: URL(filePath: path))
        #expect([UInt8](try await blobs.blob("a", owner: "o").data()) == bytes)
        try scene.scene.bytes(path).prefix(150_000).write(to: URL(filePath: path))
        #expect(try await scene.open().storedBlob("a", owner: "o") == nil)
        #expect([UInt8](try await scene.open().blob("a", owner: "o").data()) == bytes)
    }

    @Test func `Does not remove a blob that appears during a lookup`() async throws {
        let scene = try await BlobScene()
        await scene.service.put(BlobScene.bytes(10))
        let blobs = try await scene.open()
        let blob = try await blobs.blob("a", owner: "o")
        let (copy, date) = (scene.scene.root + "/copy", scene.clock.now)
        try #require(rename(blob.path, copy) == 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while !Task.isCancelled { _ = try blobs.folder.blob("a", blob.name, at: date) }
            }
            defer { group.cancelAll() }
            for _ in 1...5000 {
                try #require(link(copy, blob.path) == 0)
                // Remove the file at the end, as an eviction would.
                try #require(unlink(blob.path) == 0, "the reader removed the blob")
            }
        }
    }

    @Test func `Keeps the most recently read blobs in memory, up to a limit`() async throws {
        let scene = try await BlobScene()
        let blobs = try await scene.open(maximumMemoryByteCount: 250_000)
        for id in ["a", "b", "c"] { await scene.service.put(BlobScene.bytes(100_000), id) }
        await scene.service.put(BlobScene.bytes(200_000), "large")
        for id in ["a", "b", "a", "c", "large"] { _ = try await blobs.blob(id, owner: "o").data() }
        for (id, isKept) in [("a", true), ("b", false), ("c", true), ("large", false)] {
            let blob = try await blobs.blob(id, owner: "o")
            try FileManager.default.removeItem(atPath: blob.path)
            if isKept {
                #expect(try await blob.data().count == blob.byteCount)
            } else {
                await expectAccountError(.damaged) { try await blob.data() }
            }
        }
    }

    @Test func `Does not return another version of a blob from memory`() async throws {
        let scene = try await BlobScene()
        await scene.service.put([1])
        let blobs = try await scene.open()
        #expect(try await blobs.blob("a", owner: "o").data() == Data([1]))
        await scene.service.put([2], tag: "\"v2\"")
        #expect(try await blobs.refresh("a", owner: "o").data() == Data([2]))
    }

    // MARK: Removing

    @Test func `Removes the blobs of an owner, even during their downloads`() async throws {
        let scene = try await BlobScene()
        for id in ["a", "b", "late"] { await scene.service.put(BlobScene.bytes(100_000), id) }
        let blobs = try await scene.open()
        for (id, owner) in [("a", "one"), ("b", "one"), ("a", "two")] {
            _ = try await blobs.blob(id, owner: owner).data()
        }
        #expect(scene.wholeFiles.count == 3)
        await scene.service.beforePiece { position in
            if position > 50_000 { try await blobs.remove(ownedBy: "one") }
        }
        await expectAccountError(.conflict) { try await blobs.blob("late", owner: "one") }
        await scene.service.beforePiece(nil)
        #expect(scene.files.count == 1)
        #expect(try await blobs.storedBlob("a", owner: "one") == nil)
        #expect(try await blobs.storedBlob("a", owner: "two") != nil)
        try await blobs.remove("a", owner: "two")
        #expect(scene.files.isEmpty)
    }

    @Test func `Evicts the least recently used blobs once per process`() async throws {
        let scene = try await BlobScene()
        let size = 100_000
        for id in ["a", "b", "c", "d", "e", "f"] { await scene.service.put(BlobScene.bytes(size), id) }
        let limit = BlobFormat.fileByteCount(of: size) * 3
        let blobs = try await scene.open(maximumByteCount: limit * 10)
        for id in ["a", "b", "c", "d"] {
            scene.clock.advance(by: .seconds(60))
            _ = try await blobs.blob(id, owner: "o")
        }
        scene.clock.advance(by: .seconds(60))
        _ = try await blobs.blob("a", owner: "o")
        #expect(scene.wholeFiles.count == 4)
        await scene.service.put(BlobScene.bytes(size), "cut")
        await scene.service.fail(.cut(after: 90_000))
        await expectAccountError(.serviceUnavailable) { try await blobs.blob("cut", owner: "o") }
        let partial = try #require(scene.partialFiles.first)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: partial)

        scene.clock.advance(by: .seconds(60))
        let next = try await scene.open(maximumByteCount: limit)
        _ = try await next.blob("e", owner: "o")
        var kept: [String] = []
        for id in ["a", "b", "c", "d", "e"] where try await next.storedBlob(id, owner: "o") != nil { kept.append(id) }
        #expect(kept == ["a", "d", "e"])
        #expect(scene.partialFiles.isEmpty)
    }

    @Test
    func `Evicts abandoned partial blobs, but no running or unknown downloads`()
        async throws
    {
        let scene = try await BlobScene()
        let bytes = BlobScene.bytes(400_000)
        await scene.service.put(bytes, "slow")
        await scene.service.put(BlobScene.bytes(100_000), "other")
        let first = try await scene.open()
        let left = Reports<[String]>()
        await scene.service.beforePiece { position in
            guard position > 300_000, left.all.isEmpty else { return }
            left.add([])
            let folder = try #require(scene.partialFiles.first).parentDirectory
            let name = String(repeating: "0", count: 64)
            for file in [".\(name).0123456789abcdef.tmp", ".\(name).part", "\(name).txt", "notes"] {
                try Data([1]).write(to: URL(filePath: folder + "/" + file))
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: folder + "/" + file)
            }
            _ = try await scene.open(maximumByteCount: 120_000).blob("other", owner: "o")
            left.add(scene.files.map { String($0.dropFirst(folder.utf8.count + 1)) }.filter { $0.contains("000000") })
        }
        #expect([UInt8](try await first.blob("slow", owner: "o").data()) == bytes)
        #expect(left.all.last == [String(repeating: "0", count: 64) + ".txt"])
        #expect(scene.files.contains { $0.hasSuffix("/notes") })
    }

    @Test func `Refuses a blob above the storage limit`() async throws {
        let scene = try await BlobScene()
        await scene.service.put(BlobScene.bytes(100_001))
        let blobs = try await scene.open(maximumByteCount: 100_000)
        await expectAccountError(.tooLarge) { try await blobs.blob("a", owner: "o") }
        await scene.service.fail(.whole([.contentLength: nil, .transferEncoding: "chunked"]))
        await expectAccountError(.tooLarge) { try await blobs.blob("a", owner: "o") }
        #expect(scene.files.isEmpty)
    }
}
