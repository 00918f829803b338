import AccountKit
import AccountTesting
import Testing

struct FaultyArchiveStorageTests {
    @Test func `Fails only the chosen storage call, once, without a change`() async throws {
        let base = InMemoryArchiveStorage()
        let storage = FaultyArchiveStorage(base)
        storage.inject(.fails(FaultyArchiveStorage.diskFull), at: 2, of: .replace)
        let transaction = try await storage.beginTransaction(timeout: .zero)
        let first = try await transaction.replace(.account, with: [1], ifRevision: nil).revision
        await expectAccountError(FaultyArchiveStorage.diskFull.code) {
            try await transaction.replace(.account, with: [2], ifRevision: first)
        }
        #expect(base.entries[.account]?.bytes == [1])
        _ = try await transaction.replace(.account, with: [2], ifRevision: first)
        #expect(base.entries[.account]?.bytes == [2])
        await transaction.end()
        #expect(storage.callCount == 4)
    }

    @Test func `Counts storage calls from the injection on, by kind or in total`() async throws {
        let storage = FaultyArchiveStorage()
        _ = try await storage.read(.account)
        storage.inject(.fails(FaultyArchiveStorage.diskFull), at: 2)
        storage.inject(.fails(AccountError(.busy, "")), of: .begin)
        _ = try await storage.read(.account)
        await expectAccountError(FaultyArchiveStorage.diskFull.code) { try await storage.read(.account) }
        await expectAccountError(.busy) { try await storage.beginTransaction(timeout: .zero) }
        let transaction = try await storage.beginTransaction(timeout: .zero)
        await transaction.end()
    }

    @Test func `Completes a stalled storage call after its release`() async throws {
        let base = InMemoryArchiveStorage()
        let storage = FaultyArchiveStorage(base)
        storage.inject(.stalls, of: .replace)
        let transaction = try await storage.beginTransaction(timeout: .zero)
        let write = Task { try await transaction.replace(.account, with: [1], ifRevision: nil) }
        await storage.waitForStall()
        #expect(base.entries[.account] == nil)
        storage.release()
        _ = try await write.value
        #expect(base.entries[.account]?.bytes == [1])
        await transaction.end()
    }
}
