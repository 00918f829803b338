#if Offline
public import AccountKit
public import HTTPTypes
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Tells whether a service can be reached, from the requests that are made anyway; and, while it cannot be and somebody wants to
/// know, from one of its own now and then.
///
/// ```swift
/// let monitor = ConnectivityMonitor(transport, probe: request)
/// let notes = try await OfflineCollection("notes", remote, of: store, in: container, sending: monitor.transport)
/// for await connectivity in monitor.changes() { … }
/// ```
///
/// One failure concludes nothing, nor do several requests at once that fail of the same; and being offline is not concluded for
/// ever.
public final class ConnectivityMonitor: Sendable {
    private struct State {
        var connectivity = Connectivity.uncertain(nil)
        var knownAt: Date?
        /// Goes up with each failure that counted, and each success.
        var generation = 0
        var failures = 0
        var listeners: [Int: AsyncStream<Connectivity>.Continuation] = [:]
        var lastListener = 0
        var probing: Task<Void, Never>?
        var lastProbing = 0
    }

    private let state = Mutex(State())
    private let send: RemoteTransport
    private let probe: HTTPRequest
    private let clock: any WallClock
    private let sleep: @Sendable (Duration) async throws -> Void

    /// So long a conclusion counts that nobody looks after, in seconds.
    private static let lifetime: TimeInterval = 60
    private static let longestWait = Duration.seconds(60)

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - transport: Sends requests.
    ///   - probe: What is asked while the service cannot be reached: something small. Any response but an error of the server
    ///     means that it can be.
    ///   - clock: Tells the date.
    public convenience init(
        _ transport: @escaping RemoteTransport, probe: HTTPRequest, clock: any WallClock = SystemWallClock()
    ) {
        self.init(transport, probe: probe, clock: clock) { try await Task.sleep(for: $0) }
    }

    init(
        _ transport: @escaping RemoteTransport, probe: HTTPRequest, clock: any WallClock,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        send = transport
        self.probe = probe
        self.clock = clock
        self.sleep = sleep
    }

    /// Sends requests, and learns from what comes of them.
    public var transport: RemoteTransport {
        { [self] request, body in
            let generation = state.withLock { $0.generation }
            do {
                let response = try await send(request, body)
                note(Connectivity.Problem(response.head, to: request), since: generation, isResponse: true)
                return response
            } catch {
                note(Connectivity.Problem(error), since: generation, isResponse: false)
                throw error
            }
        }
    }

    /// What is known now.
    public var current: Connectivity { state.withLock { current($0) } }

    private func current(_ state: State) -> Connectivity {
        guard let knownAt = state.knownAt, state.probing == nil else { return state.connectivity }
        let age = clock.now.timeIntervalSince(knownAt)
        guard age < 0 || age > Self.lifetime else { return state.connectivity }
        return switch state.connectivity {
        case .online: .uncertain(nil)
        case .uncertain(let problem): .uncertain(problem)
        case .offline(let problem): .uncertain(problem)
        }
    }

    /// What is known now, and each change of that. While somebody waits for changes and the service cannot be reached, it is asked
    /// again and again, after a second at first, and at least once a minute.
    public func changes() -> AsyncStream<Connectivity> {
        let (stream, continuation) = AsyncStream.makeStream(of: Connectivity.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = continuation
            continuation.yield(current(state))
            startProbing(&state)
            return state.lastListener
        }
        // In a task of its own: who has gone may be cancelled at the moment when it is told something, under the lock.
        continuation.onTermination = { [weak self] _ in Task { self?.remove(id) } }
        return stream
    }

    private func remove(_ listener: Int) {
        let probing = state.withLock { state -> Task<Void, Never>? in
            state.listeners[listener] = nil
            return state.listeners.isEmpty ? state.probing.take() : nil
        }
        probing?.cancel()
    }

    /// Asks the service now: twice, if the first request fails.
    ///
    /// - Parameter timeout: How long to wait for it altogether; after that nothing is certain.
    public func check(timeout: Duration = .seconds(5)) async -> Connectivity {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                // What comes of it is noted.
                for _ in 1...2 where await !ask() {}
            }
            // A sleep that is cancelled is over.
            group.addTask { try? await Task.sleep(for: timeout) }
            await group.next()
            group.cancelAll()
        }
        return current
    }

    /// - Returns: Whether the service has responded.
    private func ask() async -> Bool {
        // The transport has noted what went wrong.
        guard !Task.isCancelled,
            // A probe outlives the request that started it, and the user of that request.
            let response = try? await AccountStore.withRequestsForAnyUser({ try await transport(probe, nil) })
        else { return Task.isCancelled }
        return Connectivity.Problem(response.head, to: probe) == nil
    }

    private func note(_ problem: Connectivity.Problem?, since generation: Int, isResponse: Bool) {
        state.withLock { state in
            guard let problem else {
                // An error that is not about the way says nothing of it.
                if isResponse { conclude(.online, 0, &state) }
                return
            }
            // What began before the last failure fails of the same.
            guard generation == state.generation else { return }
            let failures = state.failures + 1
            conclude(failures > 1 ? .offline(problem) : .uncertain(problem), failures, &state)
        }
    }

    private func conclude(_ connectivity: Connectivity, _ failures: Int, _ state: inout State) {
        let before = state.connectivity
        state.connectivity = connectivity
        state.knownAt = clock.now
        state.generation += 1
        state.failures = failures
        if connectivity != before { for listener in state.listeners.values { listener.yield(connectivity) } }
        startProbing(&state)
    }

    private func startProbing(_ state: inout State) {
        guard !state.listeners.isEmpty, state.probing == nil, state.connectivity != .online else { return }
        state.lastProbing += 1
        state.probing = Task { [weak self, number = state.lastProbing] in
            var wait = Duration.seconds(1)
            while let self, !Task.isCancelled {
                do { try await self.sleep(wait * Double.random(in: 0.75...1.25)) } catch { return }
                if await self.ask(), !Task.isCancelled {
                    self.state.withLock { state in
                        // Who listens by now may have another, which is not to be forgotten: it would ask for ever.
                        guard state.lastProbing == number else { return }
                        state.probing = nil
                        // It may have failed again meanwhile.
                        self.startProbing(&state)
                    }
                    return
                }
                wait = min(wait * 2, Self.longestWait)
            }
        }
    }
}
#endif
