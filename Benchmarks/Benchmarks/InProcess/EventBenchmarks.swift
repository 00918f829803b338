import AccountKit
import Benchmark
import Foundation
import SampleAccount

/// The time until a listening task has received and answered a change. The archive is in memory, so the disk has no effect.
func eventBenchmarks() {
    Benchmark("event: store, received by another task") { benchmark, listener in
        benchmark.startMeasurement()
        try await listener.store.update { (account: inout Account) throws(AccountError) in
            account.profile["points"] = .integer(account.profile.points + 1)
        }
        await listener.answer()
        benchmark.stopMeasurement()
    } setup: {
        try await Listener()
    }

    Benchmark("event: the same change, without a listener") { benchmark, store in
        benchmark.startMeasurement()
        try await store.update { (account: inout Account) throws(AccountError) in
            account.profile["points"] = .integer(account.profile.points + 1)
        }
        benchmark.stopMeasurement()
    } setup: {
        try await memoryStore()
    }

    Benchmark("event: a bare AsyncStream, received by another task") { benchmark, echo in
        benchmark.startMeasurement()
        echo.send()
        await echo.answer()
        benchmark.stopMeasurement()
    } setup: {
        Echo()
    }
}

private func memoryStore() async throws -> AccountStore {
    let store = AccountStore(storage: MemoryStorage(), appIdentifier: "account", keySources: [MemoryKey()])
    try await store.signIn { .sample() }
    return store
}

/// Answers each event of a store.
private final class Listener: Sendable {
    let store: AccountStore
    private let answers: AsyncStream<Void>

    init() async throws {
        let store = try await memoryStore()
        let events = store.events()
        let (answers, continuation) = AsyncStream.makeStream(of: Void.self)
        Task {
            for await _ in events { continuation.yield() }
        }
        self.store = store
        self.answers = answers
    }

    func answer() async {
        for await _ in answers { return }
    }
}

/// The same exchange with bare streams.
private final class Echo: Sendable {
    private let continuation: AsyncStream<Void>.Continuation
    private let answers: AsyncStream<Void>

    init() {
        let (requests, continuation) = AsyncStream.makeStream(of: Void.self)
        let (answers, answering) = AsyncStream.makeStream(of: Void.self)
        Task {
            for await _ in requests { answering.yield() }
        }
        self.continuation = continuation
        self.answers = answers
    }

    func send() { continuation.yield() }

    func answer() async {
        for await _ in answers { return }
    }
}
