import AccountKit
import AccountNetwork
import AccountSupport
import AsyncHTTPClient
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Sends calls to a cluster, first to the node that responded most recently. If this node does not respond, the client
/// tries the other nodes.
final class EtcdClient: Sendable {
    /// The time limit for a call with all of its attempts.
    struct Timeout: Sendable {
        var limit: Duration

        /// Whether to fail immediately if all nodes have just failed to respond.
        var givesUpSoon: Bool

        static let reading = Timeout(limit: .seconds(3), givesUpSoon: true)
        static let beginning = Timeout(limit: .seconds(5), givesUpSoon: true)

        /// For calls whose result must be known. The limit is longer than an election and longer than the lease of a
        /// lock.
        static let committing = Timeout(limit: .seconds(15), givesUpSoon: false)

        /// For calls that must succeed before `end`, because other processes wait until then.
        static func saving(until end: ContinuousClock.Instant) -> Timeout {
            Timeout(limit: max(ContinuousClock.now.duration(to: end), committing.limit), givesUpSoon: false)
        }

        /// For the release of locks. The client attempts the release even if all nodes have just failed to respond,
        /// because other processes wait for the locks.
        static let tidying = Timeout(limit: .seconds(3), givesUpSoon: false)
    }

    struct Response: Sendable {
        var object: JSONObject

        /// Whether the cluster may have executed an earlier attempt too.
        var isRepeated: Bool
    }

    enum Failure: Error {
        case error(AccountError)
        case refused(EtcdFailure)
    }

    private struct State {
        var preferred = 0
        var token: String?
        var unreachableUntil: ContinuousClock.Instant?
        var lastProblem = ""
    }

    private enum Attempt: Sendable {
        case response(JSONObject)
        case refused(EtcdFailure)
        case none(problem: String, isSent: Bool)
    }

    /// The time for which calls fail immediately after all nodes have failed to respond.
    private static let pause = Duration.seconds(2)

    /// The maximum length of a response, in bytes. All entries of a session are shorter than this limit, even at etcd's
    /// size limit and encoded as Base64.
    private static let responseLimit = 64 * 1024 * 1024

    let location: EtcdLocation
    let credentials: EtcdCredentials
    private let logger: Logger?
    private let state = Mutex(State())

    /// - Throws: `AccountError.Code.misconfigured` if the client would send a password without encryption.
    init(location: EtcdLocation, credentials: EtcdCredentials, logger: Logger?) throws(AccountError) {
        guard credentials.user == nil || location.usesTLS || location.isLoopback else {
            throw AccountError(
                .misconfigured,
                "AccountKit sends a password only over TLS",
                hint: "write etcds:// instead of etcd://, or unset ETCDCTL_USER")
        }
        self.location = location
        self.credentials = credentials
        self.logger = logger
    }

    // MARK: Calls

    /// Sends a call. The client may repeat any call, because changes compare the previous state and recognize their own
    /// effect.
    func send(_ call: EtcdCall, _ timeout: Timeout) async throws -> Response {
        let start = ContinuousClock.now
        let deadline = start + timeout.limit
        let (first, blocked) = state.withLock { state in
            (state.preferred, state.unreachableUntil.flatMap { $0 > start ? state.lastProblem : nil })
        }
        if timeout.givesUpSoon, let blocked { throw Failure.error(unreachable(blocked, isSent: false)) }
        // Divide the time among the nodes, so that a node that hangs does not use all of the time.
        let share = max(min(timeout.limit / location.endpoints.count, .seconds(5)), .seconds(1))
        var (isSent, problems, round) = (false, [String](), 0)
        while true {
            problems = []
            for offset in location.endpoints.indices {
                let index = (first + offset) % location.endpoints.count
                let limit = min(share, ContinuousClock.now.duration(to: deadline))
                guard limit > .zero else { break }
                let client = try httpClient(for: location.endpoints[index])
                switch await attempt(call, at: location.endpoints[index], by: client, limit) {
                case .response(let object):
                    noteResponse(of: index)
                    return Response(object: object, isRepeated: isSent)
                case .refused(let failure) where failure.code == nil:
                    // For example, there is no leader at the moment, but the cluster may still execute the change.
                    isSent = true
                    problems.append("\(location.endpoints[index]): \(failure.text)")
                case .refused(let failure):
                    noteResponse(of: index)
                    throw Failure.refused(failure)
                case .none(let problem, let wasSent):
                    isSent = isSent || wasSent
                    problems.append("\(location.endpoints[index]): \(problem)")
                }
                try Task.checkCancellation()
            }
            round += 1
            let wait = Duration.milliseconds(min(500, 50 << min(round, 4)) + Int.random(in: 0...50))
            guard ContinuousClock.now + wait < deadline else { break }
            try await Task.sleep(for: wait)
        }
        let problem = problems.joined(separator: "; ")
        state.withLock { state in
            state.unreachableUntil = .now + Self.pause
            state.lastProblem = problem
        }
        logger?.debug("the store cannot be reached", metadata: ["problems": "\(problem)"])
        throw Failure.error(unreachable(problem, isSent: isSent))
    }

    func mapping<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch EtcdClient.Failure.error(let error) {
            throw error
        } catch EtcdClient.Failure.refused(let failure) {
            throw AccountError(failure, store: "\(location)")
        }
    }

    private func noteResponse(of index: Int) {
        state.withLock { state in
            state.preferred = index
            state.unreachableUntil = nil
        }
    }

    private func unreachable(_ problem: String, isSent: Bool) -> AccountError {
        AccountError(
            .storeUnreachable,
            "the store \(location) cannot be reached"
                + (problem.isEmpty ? "" : " (\(problem))")
                + (isSent ? "" : ": nothing was changed; try again"))
    }

    // MARK: Watching

    /// Calls `body` with each message of a watch, until the connection ends, `limit` expires or `body` returns `false`.
    func watch(
        _ call: EtcdCall, for limit: Duration, _ body: @escaping @Sendable (EtcdWatchMessage) async throws -> Bool
    ) async throws {
        let endpoint = state.withLock { location.endpoints[$0.preferred] }
        let client = try httpClient(for: endpoint)
        let token = try await token(at: endpoint, by: client, Timeout.reading.limit)
        _ = try await withDeadline(.now + limit) {
            let response = try await self.connecting(to: endpoint) { url in
                var request = HTTPClientRequest(url: url + call.path)
                request.method = .POST
                request.headers = self.headers(token: token, needsLeader: true)
                request.body = .bytes(ByteBuffer(string: call.json))
                return try await client.execute(request, deadline: .now() + .seconds(10))
            }
            var line: [UInt8] = []
            for try await part in response.body {
                for byte in part.readableBytesView {
                    guard byte == UInt8(ascii: "\n") else {
                        line.append(byte)
                        guard line.count <= Self.responseLimit else { return }
                        continue
                    }
                    defer { line.removeAll() }
                    guard let object = JSONObject.read(line) else { continue }
                    let message = EtcdWatchMessage(object)
                    if case .failure(let failure) = message, failure.isTokenExpired { self.forget(token) }
                    guard try await body(message) else { return }
                }
            }
        }
    }

    func avoidPreferred() {
        state.withLock { $0.preferred = ($0.preferred + 1) % location.endpoints.count }
    }

    // MARK: One attempt

    private func attempt(
        _ call: EtcdCall, at endpoint: EtcdLocation.Endpoint, by client: HTTPClient, _ limit: Duration
    ) async -> Attempt {
        do {
            let token = try await token(at: endpoint, by: client, limit)
            let attempt = await exchange(call, token: token, at: endpoint, by: client, limit)
            guard case .refused(let failure) = attempt, failure.isTokenExpired, token != nil else { return attempt }
            forget(token)
            let renewed = try await self.token(at: endpoint, by: client, limit)
            return await exchange(call, token: renewed, at: endpoint, by: client, limit)
        } catch let failure as EtcdFailure {
            return .refused(failure)
        } catch {
            return .none(problem: Self.text(of: error), isSent: false)
        }
    }

    private func exchange(
        _ call: EtcdCall, token: String?, at endpoint: EtcdLocation.Endpoint, by client: HTTPClient, _ limit: Duration
    ) async -> Attempt {
        do {
            let response = try await response(to: call, token: token, at: endpoint, by: client, limit)
            let object = JSONObject.read(response)
            guard response.status == .ok else {
                return .refused(
                    object.map { EtcdFailure($0) }
                        ?? EtcdFailure(
                            status: response.status.code, text: response.body.map { String(buffer: $0) } ?? ""))
            }
            guard let object else {
                return .none(problem: "the server is not etcd 3.4 or later", isSent: true)
            }
            return .response(object)
        } catch {
            return .none(problem: Self.text(of: error), isSent: !Self.isBeforeSending(error))
        }
    }

    /// Sends a call to one node. NIO enforces the time limit, so that a command needs no additional threads.
    func response(
        to call: EtcdCall, token: String?, at endpoint: EtcdLocation.Endpoint, by client: HTTPClient, _ limit: Duration,
        needsLeader: Bool = true
    ) async throws -> HTTPClient.Response {
        try await connecting(to: endpoint) { url in
            let request = try HTTPClient.Request(
                url: url + call.path, method: .POST, headers: headers(token: token, needsLeader: needsLeader),
                body: .byteBuffer(ByteBuffer(string: call.json)))
            return try await response(to: request, by: client, limit)
        }
    }

    /// Sends a request to the first URL of a node that accepts a connection.
    private func connecting<Value>(
        to endpoint: EtcdLocation.Endpoint, _ send: (_ url: String) async throws -> Value
    ) async throws -> Value {
        var refusal: (any Error)?
        for url in location.urls(of: endpoint) {
            do {
                return try await send(url)
            } catch  where Self.isBeforeSending(error) {
                // Report the error of the first address, because the user expects this address.
                refusal = refusal ?? error
            }
        }
        throw refusal ?? AccountError(.storeUnreachable, "\(endpoint) has no address")
    }

    private func response(
        to request: HTTPClient.Request, by client: HTTPClient, _ limit: Duration
    ) async throws -> HTTPClient.Response {
        let task = client.execute(
            request: request, delegate: ResponseAccumulator(request: request, maxBodySize: Self.responseLimit),
            deadline: .now() + TimeAmount(limit))
        do {
            return try await withTaskCancellationHandler {
                try await task.futureResult.get()
            } onCancel: {
                task.cancel()
            }
        } catch let error as HTTPClientError where error == .deadlineExceeded {
            throw AccountError(.storeUnreachable, "no response within \(limit.text)")
        }
    }

    private func headers(token: String?, needsLeader: Bool) -> HTTPHeaders {
        var headers: HTTPHeaders = ["Content-Type": "application/json"]
        // With this header, a node reports the loss of its leader, even to a watch.
        if needsLeader { headers.add(name: "Grpc-Metadata-hasleader", value: "true") }
        if let token { headers.add(name: "Authorization", value: token) }
        return headers
    }

    // MARK: The user's token

    func token(
        at endpoint: EtcdLocation.Endpoint, by client: HTTPClient, _ limit: Duration
    ) async throws -> String? {
        guard let user = credentials.user else { return nil }
        if let token = state.withLock({ $0.token }) { return token }
        switch await exchange(.authenticate(user), token: nil, at: endpoint, by: client, limit) {
        case .response(let object):
            let token = object["token"]?.string
            state.withLock { $0.token = token }
            return token
        case .refused(let failure) where failure.isAuthenticationDisabled: return nil
        case .refused(let failure): throw failure
        case .none(let problem, _): throw AccountError(.storeUnreachable, problem)
        }
    }

    private func forget(_ token: String?) {
        state.withLock { state in
            if state.token == token { state.token = nil }
        }
    }

    // MARK: Connections

    private static let clients = Mutex<[Way: HTTPClient]>([:])

    /// Each host has its own client, because the checks of a connection depend on the host.
    private struct Way: Hashable {
        var files: EtcdCredentials.Files
        var host: String
    }

    /// Returns the HTTP client for a node. AccountKit deliberately does not shut down the client: it uses no resources
    /// before the first call, closes idle connections, and runs on NIO's shared threads.
    func httpClient(for endpoint: EtcdLocation.Endpoint) throws -> HTTPClient {
        let host = EtcdLocation.hostAndPort(endpoint).host
        let way = Way(files: location.usesTLS ? credentials.files : EtcdCredentials.Files(), host: host)
        return try Self.clients.withLock { clients in
            if let client = clients[way] { return client }
            guard ThreadSupply.isSufficient else { throw AccountError(.busy, ThreadSupply.problem) }
            var configuration = HTTPClient.Configuration(
                tlsConfiguration: try way.files.tlsConfiguration(), redirectConfiguration: .disallow,
                timeout: .init(connect: .seconds(2)), connectionPool: .init(idleTimeout: .seconds(15)),
                decompression: .disabled)
            configuration.httpVersion = .http1Only
            // Each watch uses its own connection for a long time, and must not block other calls.
            configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1024
            configuration.connectionPool.retryConnectionEstablishment = false
            // Otherwise the library computes names for a tracer even if there is no tracer.
            configuration.tracing.tracer = nil
            ConnectionCheck(host: host, usesTLS: location.usesTLS).install(in: &configuration)
            let client = HTTPClient(configuration: configuration)
            clients[way] = client
            return client
        }
    }

    private static func isBeforeSending(_ error: any Error) -> Bool {
        switch error {
        case is NIOConnectionError, is NIOSSLError, is SocketAddressError, is ConnectionRefusal: true
        case let error as IOError: [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH].contains(error.errnoCode)
        case let error as HTTPClientError:
            [.connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout].contains(error)
        default: false
        }
    }

    /// Describes an error without the content of the request.
    static func text(of error: any Error) -> String {
        switch error {
        case let error as AccountError: error.message
        case let error as NIOConnectionError:
            error.connectionErrors.first.map { text(of: $0.error) } ?? "the host is not known"
        case is SocketAddressError: "the host is not known"
        case let error as IOError: SystemCallError.text(error.errnoCode)
        case ConnectionRefusal.owner(let user):
            ConnectionRefusal.text(ofOwner: SystemCall.userName(user), at: "its address")
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError, is ConnectionRefusal:
            "no trusted TLS connection: the certificate is not for this host, or its authority is not trusted"
        case let error as HTTPClientError: error.shortDescription
        case is CancellationError: "cancelled"
        default: "\(type(of: error))"
        }
    }
}

extension JSONObject {
    static func read(_ bytes: [UInt8]) -> JSONObject? { JSONValue.object(from: bytes) }

    static func read(_ response: HTTPClient.Response) -> JSONObject? {
        response.body.flatMap { read([UInt8]($0.readableBytesView)) }
    }
}
