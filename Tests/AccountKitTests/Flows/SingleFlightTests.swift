import Synchronization
import Testing

@testable import AccountKit

@Suite(.timeLimit(.minutes(15)))
struct SingleFlightTests {
    private typealias Flight = SingleFlight<Int, Int>

    /// Work that ends with a value from the test, or with 0 when the work is cancelled.
    private final class Work: Sendable {
        let started = AsyncStream.makeStream(of: Void.self)
        let ended = AsyncStream.makeStream(of: Void.self)
        let count = Mutex(0)
        private let results = AsyncStream.makeStream(of: Int.self)

        func end(with result: Int) { results.continuation.yield(result) }

        func run() async -> Int {
            count.withLock { $0 += 1 }
            started.continuation.yield()
            defer { ended.continuation.yield() }
            for await result in results.stream { return result }
            return 0
        }
    }

    private func departure(_ body: () async throws(Flight.Departure) -> Int) async -> Flight.Departure? {
        do throws(Flight.Departure) {
            _ = try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test func `Shares one run among a thousand tasks, and starts a new run later`() async throws {
        let (flight, work) = (Flight(by: ==), Work())
        let (arrivals, arrive) = AsyncStream.makeStream(of: Void.self)
        let tasks = (0..<1000).map { _ in
            Task {
                arrive.yield()
                return try await flight.value(for: 1) { _ in await work.run() }
            }
        }
        var arrived = arrivals.makeAsyncIterator()
        for _ in tasks { await arrived.next() }
        for await _ in work.started.stream { break }
        work.end(with: 7)
        // This value is for a task that arrives only after the end of the first run.
        work.end(with: 7)
        for task in tasks { #expect(try await task.value == 7) }
        #expect(work.count.withLock { $0 } <= 2)
        #expect(try await flight.value(for: 1) { _ in 8 } == 8)
    }

    @Test func `Runs separate work for different keys`() async throws {
        let (flight, work) = (Flight(by: ==), Work())
        let first = Task { try await flight.value(for: 1) { _ in await work.run() } }
        for await _ in work.started.stream { break }
        #expect(try await flight.value(for: 2) { _ in 5 } == 5)
        work.end(with: 7)
        #expect(try await first.value == 7)
    }

    @Test func `Ends a cancelled task's wait at once, and returns the value to others`() async throws {
        let (flight, work) = (Flight(by: ==), Work())
        let patient = Task { try await flight.value(for: 1) { _ in await work.run() } }
        for await _ in work.started.stream { break }
        let impatient = Task {
            await departure { () async throws(Flight.Departure) in try await flight.value(for: 1) { _ in 9 } }
        }
        impatient.cancel()
        #expect(await impatient.value == .cancelled)
        work.end(with: 7)
        #expect(try await patient.value == 7)
    }

    @Test func `Waits in finishGivenUp until abandoned work releases its resources`() async throws {
        let flight = Flight(by: ==)
        let heldCount = Mutex(0)
        for _ in 1...10 {
            let left = await departure { () async throws(Flight.Departure) in
                try await flight.value(for: 1, until: .now) { _ in
                    heldCount.withLock { $0 += 1 }
                    for _ in 1...1000 { await Task.yield() }
                    heldCount.withLock { $0 -= 1 }
                    return 0
                }
            }
            #expect(left == .timeout(.waiting))
        }
        await flight.finishGivenUp()
        #expect(heldCount.withLock { $0 } == 0)
    }

    @Test func `Reports the stage of the work to a task that times out`() async throws {
        for stage in [Flight.Stage.waiting, .begun, .committed] {
            let (flight, work) = (Flight(by: ==), Work())
            let patient = Task {
                try await flight.value(for: 1) { progress in
                    if stage == .begun { progress.begin() }
                    if stage == .committed { #expect(progress.commit()) }
                    return await work.run()
                }
            }
            for await _ in work.started.stream { break }
            let left = await departure { () async throws(Flight.Departure) in
                try await flight.value(for: 1, until: .now) { _ in 9 }
            }
            #expect(left == .timeout(stage))
            work.end(with: 7)
            #expect(try await patient.value == 7)
        }
    }

    @Test func `Cancels the work when all tasks leave, and restarts it for a new task`() async throws {
        let (flight, work) = (Flight(by: ==), Work())
        let first = Task {
            await departure { () async throws(Flight.Departure) in
                try await flight.value(for: 1) { _ in await work.run() }
            }
        }
        for await _ in work.started.stream { break }
        first.cancel()
        #expect(await first.value == .cancelled)
        // No result was sent, so the work ended because it was cancelled.
        for await _ in work.ended.stream { break }
        #expect(try await flight.value(for: 1) { _ in 9 } == 9)
    }

    @Test func `Continues committed work without tasks, and allows new tasks to join`() async throws {
        let (flight, work) = (Flight(by: ==), Work())
        let first = Task {
            await departure { () async throws(Flight.Departure) in
                try await flight.value(for: 1) { progress in
                    #expect(progress.commit())
                    return await work.run()
                }
            }
        }
        for await _ in work.started.stream { break }
        first.cancel()
        #expect(await first.value == .cancelled)
        work.end(with: 7)
        // Returns 7 whether this task joined the work or arrived too late.
        let second = try await flight.value(for: 1) { _ in 7 }
        #expect(second == 7)
        for await _ in work.ended.stream { break }
    }

    @Test func `Returns no value of abandoned work, and refuses its late commit`()
        async throws
    {
        let (flight, work) = (Flight(by: ==), Work())
        let late = Mutex<CheckedContinuation<Void, Never>?>(nil)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let (committed, commit) = AsyncStream.makeStream(of: Bool.self)
        let first = Task {
            await departure { () async throws(Flight.Departure) in
                try await flight.value(for: 1) { progress in
                    // Ignores cancellation.
                    await withCheckedContinuation { continuation in
                        late.withLock { $0 = continuation }
                        start.yield()
                    }
                    commit.yield(progress.commit())
                    return 1
                }
            }
        }
        for await _ in started { break }
        first.cancel()
        #expect(await first.value == .cancelled)

        let second = Task { try await flight.value(for: 1) { _ in await work.run() } }
        for await _ in work.started.stream { break }
        late.withLock { $0 }?.resume()
        for await isCommitted in committed {
            #expect(!isCommitted)
            break
        }
        // Nothing signals the end of the late work, so give it many chances to run.
        for _ in 0..<1000 { await Task.yield() }
        work.end(with: 2)
        #expect(try await second.value == 2)
    }

    @Test func `Starts no work for a task that was already cancelled`() async {
        let (flight, work) = (Flight(by: ==), Work())
        work.end(with: 7)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await departure { () async throws(Flight.Departure) in
                try await flight.value(for: 1) { _ in await work.run() }
            }
        }
        #expect(await task.value == .cancelled)
        #expect(work.count.withLock { $0 } == 0)
    }
}
