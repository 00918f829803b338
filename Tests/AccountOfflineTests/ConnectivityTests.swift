#if Offline
import AccountKit
import AccountTesting
import Foundation
import HTTPTypes
import Synchronization
import TestScene
import Testing

@testable import AccountOffline

/// Conclusions from failed requests, and how long they last.
struct ConnectivityTests {
    /// The result of a request.
    enum Reply: Sendable {
        case status(Int, type: String = "application/json", body: String = "")
        case failure(AuthorityError)
        case cancelled

        static let refused = Reply.failure(.noResponse(.refused))
    }

    /// A scripted network and its monitor.
    private final class Network: Sendable {
        let replies: Mutex<[Reply]>
        let waits = Mutex<[Duration]>([])
        let requestCount = Atomic(0)
        let clock = ManualClock()

        init(_ replies: Reply...) { self.replies = Mutex(replies) }

        static let request = HTTPRequest(
            method: .get, scheme: "https", authority: "api.example.com", path: "/",
            headerFields: [.accept: "application/json"])

        var monitor: ConnectivityMonitor {
            ConnectivityMonitor(
                { [self] request, _ in try send(request) }, probe: Self.request, clock: clock,
                sleep: { [self] wait in
                    try Task.checkCancellation()
                    waits.withLock { $0.append(wait) }
                    // Yield in place of sleeping, so that other tasks can run.
                    await Task.yield()
                })
        }

        /// The last reply repeats.
        func send(_ request: HTTPRequest) throws -> (head: HTTPResponse, body: Data) {
            requestCount.add(1, ordering: .relaxed)
            switch replies.withLock({ $0.count > 1 ? $0.removeFirst() : $0[0] }) {
            case .status(let code, let type, let body):
                return (
                    HTTPResponse(status: .init(code: code), headerFields: [.contentType: type]), Data(body.utf8)
                )
            case .failure(let failure): throw AccountError(.serviceUnavailable, "no response", cause: failure)
            case .cancelled: throw CancellationError()
            }
        }
    }

    /// Sends a request through the monitor and ignores its result.
    private func request(_ monitor: ConnectivityMonitor) async {
        _ = try? await monitor.transport(Network.request, nil)
    }

    /// Whether the requests to the service eventually stop.
    private func hasNobodyAsked(_ network: Network) async -> Bool {
        for _ in 1...1000 {
            let count = network.requestCount.load(ordering: .relaxed)
            for _ in 1...100 { await Task.yield() }
            if network.requestCount.load(ordering: .relaxed) == count { return true }
        }
        return false
    }

    private func isOffline(_ connectivity: Connectivity) -> Bool {
        if case .offline = connectivity { true } else { false }
    }

    @Test func `Goes offline after two failures, and online after any response`() async {
        let network = Network(.refused, .refused, .status(404))
        let monitor = network.monitor
        #expect(monitor.current == .uncertain(nil))
        await request(monitor)
        let problem = Connectivity.Problem(description: "the connection to the service was refused")
        #expect(monitor.current == .uncertain(problem))
        await request(monitor)
        #expect(monitor.current == .offline(problem))
        await request(monitor)
        #expect(monitor.current == .online)
    }

    @Test(
        arguments: [
            (.failure(.noResponse(.unknownHost)), "the host name is not known"),
            (.failure(.notSent(.noResponse(.nameServer))), "no name server responded"),
            (.refused, "was refused"), (.failure(.noResponse(.timeout)), "did not respond in time"),
            (.failure(.proxyAuthenticationRequired), "the proxy requires credentials"),
            (.failure(.untrustedTLS("expired")), "not secure (expired)"),
            (.failure(.intercepted("a redirect")), "another server responded (a redirect)"),
            (.status(511), "a captive portal?"),
            (.status(200, type: "text/html; charset=utf-8"), "another server responded (status 200)"),
            (.status(404, type: "text/plain", body: "no route"), "another server responded (status 404)"),
            (.status(200, body: "<html>"), "another server responded (status 200)"),
            (.status(403, body: "blocked"), "another server responded (status 403)"),
            (.status(502, type: "text/html", body: "<html>"), "status 502"), (.status(503), "status 503"),
            (.failure(.unavailable(status: 503, retryAfter: nil)), "status 503"),
        ] as [(Reply, String)])
    func `Reports the reason for an unreachable service`(reply: Reply, words: String) async throws {
        let monitor = Network(reply).monitor
        await request(monitor)
        await request(monitor)
        guard case .offline(let problem) = monitor.current else {
            Issue.record("\(monitor.current)")
            return
        }
        #expect(problem.description.contains(words))
    }

    @Test(arguments: [Reply.cancelled, .failure(.noResponse(.cancelled)), .failure(.unauthorized(error: nil))])
    func `Stays online after results that do not concern the connection`(reply: Reply) async {
        let network = Network(.status(200), reply)
        let monitor = network.monitor
        for _ in 1...3 { await request(monitor) }
        #expect(monitor.current == .online)
    }

    @Test(arguments: [
        Reply.status(404), .status(404, body: "{}"), .status(401, body: " [1]"), .status(200, body: "true"),
        .status(304),
    ])
    func `Stays online after responses that may come from the service`(reply: Reply) async {
        let monitor = Network(.status(200), reply).monitor
        for _ in 1...3 { await request(monitor) }
        #expect(monitor.current == .online)
    }

    @Test func `Recognizes the service by the form that the app specifies`() async {
        let network = Network(.status(204), .status(204, type: "service"), .status(404))
        let monitor = ConnectivityMonitor(
            { request, _ in try network.send(request) }, probe: Network.request, clock: network.clock,
            isFromService: { head, _ in head.headerFields[.contentType] == "service" })
        await request(monitor)
        guard case .uncertain(let problem?) = monitor.current else {
            Issue.record("\(monitor.current)")
            return
        }
        #expect(problem.description.contains("another server responded"))
        await request(monitor)
        #expect(monitor.current == .online)
        await request(monitor)
        #expect(monitor.current != .online)
    }

    @Test func `Counts simultaneous failures as one`() async {
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let monitor = ConnectivityMonitor(
            { _, _ in
                arrival.yield()
                for await _ in gate {}
                throw AccountError(.serviceUnavailable, "", cause: AuthorityError.noResponse(.reset))
            }, probe: Network.request, clock: ManualClock())
        async let first: Void = request(monitor)
        async let second: Void = request(monitor)
        var iterator = arrivals.makeAsyncIterator()
        await iterator.next()
        await iterator.next()
        opening.finish()
        _ = await (first, second)
        #expect(!isOffline(monitor.current))
    }

    @Test func `Forgets that the service is offline after a minute`() async {
        let network = Network(.refused)
        let monitor = network.monitor
        await request(monitor)
        await request(monitor)
        #expect(isOffline(monitor.current))
        network.clock.advance(by: .seconds(61))
        #expect(!isOffline(monitor.current))
        await request(monitor)
        #expect(isOffline(monitor.current))
        // After the clock was set back, the age is unknown.
        network.clock.advance(by: .seconds(-3600))
        #expect(!isOffline(monitor.current))
    }

    @Test func `Probes the service repeatedly only while a listener observes`() async {
        let network = Network(
            .refused, .refused, .refused, .refused, .refused, .refused, .refused, .refused, .status(200))
        let monitor = network.monitor
        var seen: [Connectivity] = []
        for await connectivity in monitor.changes() {
            seen.append(connectivity)
            if connectivity == .online { break }
        }
        #expect(seen.first == .uncertain(nil))
        #expect(seen.last == .online)
        let waits = network.waits.withLock { $0 }
        #expect(waits.count == 9)
        for (number, wait) in waits.enumerated() {
            let middle = min(Double(1 << number), 60)
            let seconds = Double(wait.components.seconds) + Double(wait.components.attoseconds) / 1e18
            #expect((middle * 0.74...middle * 1.26).contains(seconds), "\(waits)")
        }
    }

    @Test func `Probes twice before a check reports that the service is offline`() async {
        #expect(isOffline(await Network(.refused).monitor.check()))
        #expect(await Network(.refused, .status(200)).monitor.check() == .online)
        #expect(await Network(.status(200)).monitor.check() == .online)
    }

    @Test func `Reports an uncertain connection if a check gets no response`() async {
        let monitor = ConnectivityMonitor(
            { _, _ in
                try await Task.sleep(for: .seconds(3600))
                throw CancellationError()
            }, probe: Network.request)
        #expect(await monitor.check(timeout: .milliseconds(1)) == .uncertain(nil))
    }

    @Test func `Ends a connectivity stream if a listener is cancelled during a change`() async {
        let network = Network(.status(200))
        let monitor = network.monitor
        let hasEnded = await CancellationRace.run { isTold in
            for await _ in monitor.changes() { isTold() }
        } against: {
            let isDone = DispatchSemaphore(value: 0)
            Task {
                for reply in [Reply.status(200), .refused] {
                    network.replies.withLock { $0 = [reply] }
                    await request(monitor)
                }
                isDone.signal()
            }
            isDone.wait()
        }
        #expect(hasEnded)
        #expect(await hasNobodyAsked(network), "the service is still asked without a listener")
    }
}
#endif
