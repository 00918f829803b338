import AccountKit
import Synchronization
import Testing

@testable import AccountHTTP

@Suite("A value that is fetched once", .timeLimit(.minutes(15)))
struct FetchedOnceTests {
    /// A fetch that ends when the test says so.
    private final class Gate: Sendable {
        let started = AsyncStream.makeStream(of: Void.self)
        let ended = AsyncStream.makeStream(of: Void.self)
        let count = Counter()
        private let answers = AsyncStream.makeStream(of: FetchedOnce<Int>.Outcome.self)

        func answer(_ outcome: FetchedOnce<Int>.Outcome) { answers.continuation.yield(outcome) }

        func fetch() async -> FetchedOnce<Int>.Outcome {
            _ = count.next()
            started.continuation.yield()
            defer { ended.continuation.yield() }
            for await outcome in answers.stream { return outcome }
            return .failure(.noResponse(.cancelled))
        }
    }

    @Test("A value that is there is not fetched")
    func ready() async throws {
        #expect(try await FetchedOnce(7).value() == 7)
    }

    @Test("Who is cancelled leaves at once, and the others get the value")
    func oneIsCancelled() async throws {
        let gate = Gate()
        let once = FetchedOnce { await gate.fetch() }
        let patient = Task { try await once.value() }
        for await _ in gate.started.stream { break }
        let impatient = Task { await asyncFailure { try await once.value() } }
        impatient.cancel()
        #expect(await impatient.value == .noResponse(.cancelled))
        gate.answer(.success(7))
        #expect(try await patient.value == 7)
        #expect(try await once.value() == 7)
        #expect(gate.count.value == 1)
    }

    @Test("When all have left, the fetch is cancelled, and the next who asks fetches anew")
    func allAreCancelled() async throws {
        let (gates, calls) = ([Gate(), Gate(), Gate()], Counter())
        let once = FetchedOnce { await gates[calls.next() - 1].fetch() }
        let first = Task { await asyncFailure { try await once.value() } }
        for await _ in gates[0].started.stream { break }
        first.cancel()
        #expect(await first.value == .noResponse(.cancelled))
        // The fetch has ended because it was cancelled: nobody answered it.
        for await _ in gates[0].ended.stream { break }

        gates[1].answer(.failure(.noResponse(.timeout)))
        #expect(await asyncFailure { try await once.value() } == .noResponse(.timeout))
        gates[2].answer(.success(9))
        #expect(try await once.value() == 9)
        #expect(calls.value == 3)
    }

    @Test("A fetch that was given up, and ends all the same, does not answer for the next")
    func lateFetch() async throws {
        let (gate, calls) = (Gate(), Counter())
        let late = Mutex<CheckedContinuation<Void, Never>?>(nil)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let once = FetchedOnce {
            if calls.next() > 1 { return await gate.fetch() }
            // Does not mind being cancelled.
            await withCheckedContinuation { continuation in
                late.withLock { $0 = continuation }
                start.yield()
            }
            return .success(1)
        }
        let first = Task { await asyncFailure { try await once.value() } }
        for await _ in started { break }
        first.cancel()
        #expect(await first.value == .noResponse(.cancelled))

        let second = Task { try await once.value() }
        for await _ in gate.started.stream { break }
        late.withLock { $0 }?.resume()
        // Nothing tells when the late one has ended; this gives it every chance to.
        for _ in 0..<1000 { await Task.yield() }
        gate.answer(.success(2))
        #expect(try await second.value == 2)
    }

    @Test("Who is cancelled before asking does not ask")
    func cancelledBefore() async {
        let gate = Gate()
        gate.answer(.success(1))
        let once = FetchedOnce { await gate.fetch() }
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await asyncFailure { try await once.value() }
        }
        #expect(await task.value == .noResponse(.cancelled))
        #expect(gate.count.value == 0)
    }
}
