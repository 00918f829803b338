import AccountKit
import AccountTesting
import Foundation
import HTTPTypes
import TestScene
import Testing

@testable import AccountDocuments

/// Downloads of a changing file with random faults. Each seed gives the same run.
struct BlobRandomTests {
    @Test(arguments: seeds(40))
    func `Returns exactly one version of a blob despite any sequence of faults`(_ seed: Int) async throws {
        var generator = SeededGenerator(seed)
        let scene = try await BlobScene()
        var versions: [String: [UInt8]] = [:]
        func change() async {
            let tag = "\"v\(versions.count)\""
            let bytes = BlobScene.bytes(.random(in: 1...700_000, using: &generator), seed: seed * 100 + versions.count)
            versions[tag] = bytes
            await scene.service.put(bytes, tag: tag)
        }
        await change()
        var shownCount = 0
        for _ in 0..<30 {
            let size = try #require(await scene.service.file()).bytes.count
            let first = Int.random(in: 0..<size, using: &generator)
            let range = first..<Int.random(in: first + 1...size, using: &generator)
            switch Int.random(in: 0..<12, using: &generator) {
            case 0...3: await scene.service.fail(.cut(after: .random(in: 0...size, using: &generator)))
            case 4: await scene.service.fail(.endsEarly(after: .random(in: 0...size, using: &generator)))
            case 5: await scene.service.fail(.ignoresRange)
            case 6: await scene.service.fail(.part(range, [:]))
            case 7: await scene.service.fail(.part(range, [.eTag: "\"v0\""]), .cut(after: first))
            case 8: await scene.service.fail(.status(.rangeNotSatisfiable), .cut(after: first))
            case 9: await scene.service.fail(.status(.serviceUnavailable))
            case 10: await change()
            default:
                if let partial = scene.partialFiles.first {
                    let count = try scene.scene.bytes(partial).count
                    if count > 0 { try scene.flip(partial, at: .random(in: 0..<count, using: &generator)) }
                }
            }
            do {
                let blob = try await scene.open().refresh("a", owner: "o")
                #expect([UInt8](try await blob.data()) == versions[try #require(blob.entityTag)])
                shownCount += 1
            } catch let error as AccountError {
                #expect([.serviceUnavailable, .requestRefused].contains(error.code), "\(error)")
            }
            if let kept = try await scene.open().storedBlob("a", owner: "o") {
                #expect([UInt8](try await kept.data()) == versions[try #require(kept.entityTag)])
            }
        }
        // Use up the remaining faults.
        var last: OfflineBlob?
        for _ in 0..<100 where last == nil {
            // The download succeeds when no fault is left.
            last = try? await scene.open().refresh("a", owner: "o")
        }
        let whole = try #require(last)
        #expect([UInt8](try await whole.data()) == versions[try #require(whole.entityTag)])
        #expect(shownCount > 0)
        #expect(scene.files.count == 1)
    }
}
