import AccountKit
import AccountTesting
import TestScene
import Testing

/// The transactions and leases that last as long as a closure.
struct ArchiveStorageScopesTests {
    private let storage = InMemoryArchiveStorage()
    private let failure = AccountError(.cancelled, "the body failed")

    private func expectFree() async throws {
        try await storage.withTransaction(timeout: .zero) { _ in }
        try await storage.withRefreshLease(timeout: .zero) { _ in }
    }

    @Test func `Ends a transaction after its body returns or throws`() async throws {
        let value = try await storage.withTransaction(timeout: .zero) { transaction in
            _ = try await transaction.replace(.account, with: [1], ifRevision: nil)
            await expectAccountError(.busy) { try await storage.withTransaction(timeout: .zero) { _ in } }
            return 7
        }
        #expect(value == 7)
        try await expectFree()
        await expectAccountError(failure.code) {
            try await storage.withTransaction(timeout: .zero) { _ in throw failure }
        }
        try await expectFree()
        #expect(storage.entries[.account]?.bytes == [1])
    }

    @Test func `Releases a lease and its transactions after the body ends`() async throws {
        try await storage.withRefreshLease(timeout: .zero) { lease in
            await expectAccountError(.busy) { try await storage.withRefreshLease(timeout: .zero) { _ in } }
            await expectAccountError(failure.code) {
                try await lease.withTransaction(timeout: .zero) { _ in throw failure }
            }
            try await lease.withTransaction(timeout: .zero) { _ in }
        }
        try await expectFree()
        await expectAccountError(failure.code) {
            try await storage.withRefreshLease(timeout: .zero) { lease in
                try await lease.withTransaction(timeout: .zero) { _ in throw failure }
            }
        }
        try await expectFree()
    }

    @Test func `Releases the lease of a cancelled task`() async throws {
        let task = Task { [storage] in
            try await storage.withRefreshLease(timeout: .zero) { lease in
                try await lease.withTransaction(timeout: .zero) { _ in
                    withUnsafeCurrentTask { $0?.cancel() }
                    try Task.checkCancellation()
                }
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        try await expectFree()
    }

    @Test func `Runs no body without the transaction or the lease`() async throws {
        let faulty = FaultyArchiveStorage(storage)
        for call in [FaultyArchiveStorage.Call.begin, .lease] {
            faulty.inject(.fails(FaultyArchiveStorage.diskFull), of: call)
            await expectAccountError(FaultyArchiveStorage.diskFull.code) {
                try await faulty.withRefreshLease(timeout: .zero) { lease in
                    try await lease.withTransaction(timeout: .zero) { _ in Issue.record("the body ran") }
                }
            }
            try await expectFree()
        }
    }
}
