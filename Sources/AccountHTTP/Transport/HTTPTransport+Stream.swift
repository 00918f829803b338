import AccountKit
import AsyncHTTPClient
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import AccountCrypto
import AccountSupport

extension HTTPTransport {
    /// Sends a request with bodies in pieces. The transfer ends early only if the task is cancelled, or after a time of
    /// `timeout` without any bytes. Rethrows a failure of `transfer`.
    func stream(
        _ request: ServiceRequest, _ transfer: BodyTransfer, timeout: Duration, clock: any WallClock, logger: Logger?
    ) async throws -> ServiceResponse {
        let line = "\(request.method) \(request.url.authority)\(request.url.path)"
        do {
            let response = try await watched(transfer, timeout: timeout, peer(of: request.url)) {
                try await self.transferred(request, transfer, clock: clock)
            }
            logger?.debug("\(line) \(response.status)")
            return response
        } catch {
            logger?.debug("\(line) failed: \(transfer.failure == nil ? "\(error)" : "ended by the caller")")
            throw error
        }
    }

    private func watched(
        _ transfer: BodyTransfer, timeout: Duration, _ peer: Peer,
        _ body: @escaping @Sendable () async throws -> ServiceResponse
    ) async throws -> ServiceResponse {
        transfer.begin()
        return try await withThrowingTaskGroup(of: ServiceResponse.self) { group in
            group.addTask { try await body() }
            group.addTask {
                while true {
                    let rest = timeout - transfer.idleTime
                    guard rest > .zero else { throw peer.failure(.timeout) }
                    // Limit the sleep: clocks have a smaller range than durations.
                    try await Task.sleep(for: min(rest, .seconds(86_400)))
                }
            }
            defer { group.cancelAll() }
            do {
                guard let response = try await group.next() else { throw peer.failure(.cancelled) }
                return response
            } catch is CancellationError {
                throw peer.failure(.cancelled)
            }
        }
    }

    private func transferred(
        _ request: ServiceRequest, _ transfer: BodyTransfer, clock: any WallClock
    ) async throws -> ServiceResponse {
        let peer = peer(of: request.url)
        var phase = TransportFailure.Phase.beforeHead
        let start = ContinuousClock.now
        do {
            var sent = clientRequest(request)
            if let byteCount = transfer.byteCount {
                sent.body = .stream(BodyBuffers(transfer: transfer), length: .known(Int64(byteCount)))
            }
            let response = try await execute(sent, to: request.url, by: try client(for: request))
            phase = .inBody
            Self.wipeToken(in: sent)
            let whole = ServiceResponse(head: Self.head(of: response), body: WipedBytes(), receivedAt: clock.now)
            guard whole.head.status.kind == .successful else {
                let limit = AccessRequirement(whole, hiding: request.secrets) == nil ? request.bodyLimit : 0
                return try await read(response, limit: limit, receivedAt: clock.now)
            }
            for try await part in response.body {
                try await transfer.receive(whole.head, Data(part.readableBytesView))
            }
            return whole
        } catch {
            if let failure = transfer.failure { throw failure }
            throw TransportFailure.failure(for: error, from: peer, phase, after: start.duration(to: .now))
        }
    }
}
