#if Offline
public import AccountKit
public import HTTPTypes
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Determines from the app's own requests whether a service is reachable. While the service is unreachable and there
/// are listeners, the monitor also sends its own requests from time to time.
///
/// ```swift
/// let monitor = ConnectivityMonitor(transport, probe: request)
/// let notes = try await OfflineCollection("notes", remote, of: store, in: container, sending: monitor.transport)
/// for await connectivity in monitor.changes() { … }
/// ```
///
/// The monitor does not report that the service is unreachable after a single failure, or after several simultaneous
/// failures with the same cause. A response from another server, such as a captive portal or a proxy, is a failure. A
/// state expires after 60 seconds without requests.
public final class ConnectivityMonitor: Sendable {
    private struct State {
        var connectivity = Connectivity.uncertain(nil)
        var knownAt: Date?
        /// The number of successes and failures that changed the state.
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
    private let isFromService: (@Sendable (HTTPResponse, Data) -> Bool)?
    private let clock: any WallClock
    private let sleep: @Sendable (Duration) async throws -> Void

    /// The time for which a state is valid without further requests, in seconds.
    private static let lifetime: TimeInterval = 60
    private static let longestWait = Duration.seconds(60)

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - transport: The function that sends requests.
    ///   - probe: A small request to send while the service is unreachable. Any response of the service except a server
    ///     error means that the service is reachable.
    ///   - clock: The source of the current date, or `nil` for the clock of the machine.
    ///   - isFromService: A function that recognizes the service by the form of a response, for example with
    ///     ``RemoteCollection/answer(_:_:to:)``. Without this function, a response is from another server if the request
    ///     accepts only JSON and the body is not JSON.
    public convenience init(
        _ transport: @escaping RemoteTransport, probe: HTTPRequest, clock: (any WallClock)? = nil,
        isFromService: (@Sendable (_ head: HTTPResponse, _ body: Data) -> Bool)? = nil
    ) {
        self.init(transport, probe: probe, clock: clock ?? SystemWallClock(), isFromService: isFromService) {
            try await Task.sleep(for: $0)
        }
    }

    init(
        _ transport: @escaping RemoteTransport, probe: HTTPRequest, clock: any WallClock,
        isFromService: (@Sendable (HTTPResponse, Data) -> Bool)? = nil,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        send = transport
        self.isFromService = isFromService
        self.probe = probe
        self.clock = clock
        self.sleep = sleep
    }

    /// A transport that sends requests and observes their results.
    public var transport: RemoteTransport {
        { [self] request, body in
            let generation = state.withLock { $0.generation }
            do {
                let response = try await send(request, body)
                note(problem(response, to: request), since: generation, isResponse: true)
                return response
            } catch {
                note(Connectivity.Problem(error), since: generation, isResponse: false)
                throw error
            }
        }
    }

    private func problem(
        _ response: (head: HTTPResponse, body: Data), to request: HTTPRequest
    ) -> Connectivity.Problem? {
        // A response to a conditional request has no content to recognize.
        let isForeign =
            response.head.status != .notModified
            && (isFromService.map { !$0(response.head, response.body) }
                ?? Connectivity.Problem.isForeign(response.head, response.body, to: request))
        return Connectivity.Problem(response.head, isForeign: isForeign)
    }

    /// The current state.
    var current: Connectivity { state.withLock { current($0) } }

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

    /// Returns the current state and its changes. While there are listeners and the service is unreachable, the monitor
    /// probes the service: after one second at first, and at least once a minute.
    public func changes() -> AsyncStream<Connectivity> {
        let (stream, continuation) = AsyncStream.makeStream(of: Connectivity.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = continuation
            continuation.yield(current(state))
            startProbing(&state)
            return state.lastListener
        }
        // Use a separate task, because a listener may be cancelled while it receives an element under the lock.
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

    /// Probes the service, and repeats the request once if it fails. Returns the resulting state.
    ///
    /// - Parameter timeout: How long to wait for both requests. After this time, this method returns the last known
    ///   state.
    public func check(timeout: Duration = .seconds(5)) async -> Connectivity {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                // The transport records the results.
                for _ in 1...2 where await !ask() {}
            }
            group.addTask { try? await Task.sleep(for: timeout) }
            await group.next()
            group.cancelAll()
        }
        return current
    }

    /// Sends a probe. Returns whether to stop probing, because the service responded without a server error or the task
    /// was cancelled.
    private func ask() async -> Bool {
        // The transport has recorded the failure.
        guard !Task.isCancelled,
            // A probe may continue after the request that started it, and after the end of the user's session.
            let response = try? await AccountStore.withRequestsForAnyUser({ try await transport(probe, nil) })
        else { return Task.isCancelled }
        return problem(response, to: probe) == nil
    }

    private func note(_ problem: Connectivity.Problem?, since generation: Int, isResponse: Bool) {
        state.withLock { state in
            guard let problem else {
                // Ignore other errors, which do not concern the network.
                if isResponse { conclude(.online, 0, &state) }
                return
            }
            // Ignore the failure of a request that began before the last failure, because both failures have the same
            // cause.
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
                        // Keep a probe that new listeners have started: otherwise, no code could cancel it.
                        guard state.lastProbing == number else { return }
                        state.probing = nil
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
