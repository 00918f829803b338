import AccountKit
import AccountTesting
import TestScene
import Testing

struct FaultyArchiveStorageTests {
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
}
