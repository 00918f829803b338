import AccountKit
import AccountNetwork
import AsyncHTTPClient
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import AccountCrypto
import AccountSupport
import Synchronization

/// Sends requests over verified TLS or on the loopback interface. The transport follows no redirects, and every wait
/// has a limit.
final class HTTPTransport: Sendable {
    let environment: NetworkEnvironment

    let nonces = ProofNonces()

    /// The server that named the hosts of all requests; `nil` if the app or the user named them.
    private let namer: String?

    /// The networks of the hosts that answered this process.
    private let places: HostPlaces

    private let clients: Clients
    private let connectionLimit: Int
    private let adapt: @Sendable (inout HTTPClient.Configuration) -> Void

    /// The HTTP clients, created when first needed: a client starts threads, and most commands send no request.
    private final class Clients: Sendable {
        private let clients = Mutex<[Way: HTTPClient]>([:])

        deinit {
            let clients = clients.withLock { $0.values.map { $0 } }
            guard !clients.isEmpty else { return }
            Task { for client in clients { try? await client.shutdown() } }
        }

        func client(_ way: Way, _ configuration: () -> HTTPClient.Configuration) -> HTTPClient {
            clients.withLock { clients in
                let client = clients[way] ?? HTTPClient(configuration: configuration())
                clients[way] = client
                return client
            }
        }
    }

    /// Each host has its own client, because the checks of a connection depend on the host.
    private struct Way: Hashable {
        var host: String
        var namer: String?
        var usesTLS: Bool
        var isProxied: Bool

        /// Whether the client sends only token requests, each on a new connection. If such a request used a connection
        /// that is just closing, it would be unclear whether the service processed the request.
        var isExchange: Bool
    }

    /// The transport of this process. AccountKit deliberately does not shut it down: the transport uses no resources
    /// until its first request, closes idle connections, and runs on NIO's shared threads. Tests replace the transport
    /// within their tasks.
    @TaskLocal static var shared = HTTPTransport(environment: .current)

    /// - Parameter adapt: Changes the configuration of each HTTP client, for tests.
    init(
        environment: NetworkEnvironment = .none, connectionLimit: Int = 32,
        adapt: @escaping @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
    ) {
        self.environment = environment
        self.connectionLimit = connectionLimit
        self.adapt = adapt
        namer = nil
        places = HostPlaces()
        clients = Clients()
    }

    private init(_ other: HTTPTransport, namer: String) {
        environment = other.environment
        connectionLimit = other.connectionLimit
        adapt = other.adapt
        places = other.places
        clients = other.clients
        self.namer = namer
    }

    /// Returns a transport for hosts that a server named. It sends nothing to an address in a private network, unless that
    /// server is in the same network (server-side request forgery). A proxy looks the names up itself, so this transport
    /// does not check the addresses behind a proxy.
    func reaching(hostsNamedBy namer: ServiceURL) -> HTTPTransport { HTTPTransport(self, namer: namer.host) }

    private func configuration(_ way: Way) -> HTTPClient.Configuration {
        var tls = TLSConfiguration.makeClientConfiguration()
        if let file = environment.certificateFile { tls.trustRoots = .file(file.value) }
        tls.certificateVerification = .fullVerification
        tls.minimumTLSVersion = .tlsv12
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            // A redirect could send a token to another server.
            redirectConfiguration: .disallow,
            // This limit includes the wait for a free connection. Each request has its own deadline.
            timeout: .init(connect: .seconds(60)),
            // Use a short idle time, because a request fails on a connection that the service has just closed.
            connectionPool: .init(idleTimeout: .seconds(15)),
            proxy: way.isProxied ? (try? environment.proxy?.address.get())?.setting : nil,
            // Responses are small, and a compressed response may expand far beyond its size.
            decompression: .disabled)
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionLimit
        // Fail immediately when offline; the caller decides whether to retry.
        configuration.connectionPool.retryConnectionEstablishment = false
        let (namer, places) = (namer, places)
        let check = ConnectionCheck(host: way.host, usesTLS: way.usesTLS, isProxied: way.isProxied) { address in
            if let namer, let flaw = places.flaw(of: address, at: way.host, namedBy: namer) { return flaw }
            places.note([address], of: way.host)
            return nil
        }
        check.install(in: &configuration) { try WipingHandler.install(in: $0) }
        adapt(&configuration)
        return configuration
    }

    /// - Parameter logger: Receives one line with the method, host, path and status, without the query, header fields
    ///   and body.
    func send(
        _ request: ServiceRequest, timeout: Duration, clock: any WallClock, logger: Logger?
    ) async throws(AuthorityError) -> ServiceResponse {
        guard request.key != nil else {
            return try await begin(request, nil, timeout: timeout, clock: clock, logger: logger).response()
        }
        do {
            return try await nonces.exchange(request, clock: clock) {
                try await begin($0, nil, timeout: timeout, clock: clock, logger: logger).response()
            }
        } catch {
            throw AuthorityError(error)
        }
    }

    /// Connects to the service and sends the head of the request, which contains no token. The caller must send or
    /// abandon the returned request.
    func prepare(
        _ request: ServiceRequest, timeout: Duration, clock: any WallClock, logger: Logger?
    ) async throws(AuthorityError) -> PreparedRequest {
        var request = request
        try nonces.prove(&request, at: clock.now)
        let body = ExchangeBody(request.form?.bytes ?? WipedBytes())
        let begun = try begin(request, body, timeout: timeout, clock: clock, logger: logger)
        await begun.connect()
        guard !body.isConnected else { return begun }
        // The request failed, or the service responded to the head alone.
        let response = try await begun.response()
        throw .notSent(
            .unclear("\(peer(of: request.url)) responded with status \(response.status) before the request was sent"))
    }

    private func begin(
        _ request: ServiceRequest, _ body: ExchangeBody?, timeout: Duration, clock: any WallClock, logger: Logger?
    ) throws(AuthorityError) -> PreparedRequest {
        if Task.isCancelled { throw peer(of: request.url).failure(.cancelled, .connection) }
        guard ThreadSupply.isSufficient else { throw peer(of: request.url).failure(.noThread) }
        let line = "\(request.method) \(request.url.authority)\(request.url.path)"
        let (cancellations, cancellation) = AsyncStream.makeStream(of: Void.self)
        // Cancelling the caller does not cancel this task: the task decides whether to end the request.
        let task = Task {
            let outcome = await self.outcome(
                of: request, body, timeout: timeout, cancellations: cancellations, clock: clock)
            // The HTTP client may still wait for the body, and the caller may still wait for the connection.
            body?.giveUp()
            switch outcome {
            case .success(let response): logger?.debug("\(line) \(response.status)")
            case .failure(let failure): logger?.debug("\(line) failed: \(failure)")
            }
            return outcome
        }
        return PreparedRequest(request, body: body, task: task, cancellation: cancellation)
    }

    private enum Event: Sendable {
        case finished(Result<ServiceResponse, AuthorityError>)
        case halfTime
        case deadline
        case exchangeDeadline
        case cancelled
    }

    /// Runs the request with a deadline that includes the response body. The HTTP client's own deadline does not apply
    /// after the head of the response.
    private func outcome(
        of request: ServiceRequest, _ body: ExchangeBody?, timeout: Duration, cancellations: AsyncStream<Void>,
        clock: any WallClock
    ) async -> Result<ServiceResponse, AuthorityError> {
        let peer = peer(of: request.url)
        let exchange = request.tokenRequestTimeout.flatMap { limit in body.map { (body: $0, limit: limit) } }
        let lookUp = NameLookUp(of: peer.host)
        return await withTaskGroup(of: Event.self) { group in
            group.addTask { .finished(await self.exchange(request, body, peer, clock: clock)) }
            group.addTask {
                await Self.sleep(timeout / 2)
                return .halfTime
            }
            group.addTask {
                for await _ in cancellations { break }
                return .cancelled
            }
            if let exchange {
                group.addTask {
                    for await _ in exchange.body.sending { break }
                    await Self.sleep(exchange.limit)
                    return .exchangeDeadline
                }
            }
            defer { group.cancelAll() }
            while let event = await group.next() {
                switch event {
                case .finished(let result): return result
                case .halfTime:
                    if body?.isConnected != true { lookUp.begin() }
                    group.addTask {
                        await Self.sleep(timeout / 2)
                        return .deadline
                    }
                case .deadline:
                    guard body?.giveUp(onlyWhileConnecting: true) ?? true else { continue }
                    let stage: AuthorityError.Failure.Stage? =
                        lookUp.isUnderWay ? .nameLookUp : body == nil ? nil : .connection
                    return .failure(peer.failure(.timeout, stage))
                case .cancelled:
                    guard body?.giveUp() ?? true else { continue }
                    return .failure(peer.failure(.cancelled, body == nil ? nil : .connection))
                case .exchangeDeadline:
                    let timeout = peer.failure(.timeout, .sent)
                    // The tokens may have arrived, although the service did not end its response.
                    group.cancelAll()
                    for await case .finished(.success(var response)) in group {
                        if response.interruption != nil { response.interruption = timeout }
                        return .success(response)
                    }
                    return .failure(timeout)
                }
            }
            return .failure(peer.failure(.cancelled, nil))
        }
    }

    private static func sleep(_ duration: Duration) async {
        // An error means that the group is cancelled. Sleep at most a day: clocks have a smaller range than durations.
        try? await Task.sleep(for: min(duration, .seconds(86_400)))
    }

    private func exchange(
        _ request: ServiceRequest, _ body: ExchangeBody?, _ peer: Peer, clock: any WallClock
    ) async -> Result<ServiceResponse, AuthorityError> {
        var phase = TransportFailure.Phase.beforeHead
        let start = ContinuousClock.now
        do {
            let client = try client(for: request)
            try await checkAddresses(of: request.url)
            let sent = clientRequest(request, body)
            let response = try await execute(sent, to: request.url, by: client)
            phase = .inBody
            Self.wipeToken(in: sent)
            // The service does not repeat a response that spent a token.
            let keepsPart = body != nil && 200..<300 ~= response.status.code
            let whole = try await read(
                response, limit: request.bodyLimit, receivedAt: clock.now,
                keepingPartAfter: keepsPart
                    ? { TransportFailure.failure(for: $0, from: peer, .inBody, after: start.duration(to: .now)) } : nil)
            nonces.note(whole, to: request)
            return .success(whole)
        } catch {
            if body?.isDisallowed == true { return .failure(.leaseLost) }
            let failure = TransportFailure.failure(for: error, from: peer, phase, after: start.duration(to: .now))
            let isUnsent = phase == .beforeHead && body.map { !$0.isSent } ?? false
            return .failure(isUnsent ? failure.notSent(at: .connection) : failure)
        }
    }

    func execute(
        _ request: HTTPClientRequest, to url: ServiceURL, by client: HTTPClient
    ) async throws -> HTTPClientResponse {
        var request = request
        request.headers.replaceOrAdd(name: "Host", value: url.authority)
        var refusal: IOError?
        for connectionURL in url.connectionURLs {
            request.url = connectionURL
            do {
                return try await client.execute(request, deadline: .distantFuture)
            } catch let error as IOError where error.isNotConnected {
                // Report the failure at the first address, because the user expects this address.
                refusal = refusal ?? error
            }
        }
        throw refusal ?? IOError.connectionRefused
    }

    /// Refuses a host whose name leads to a network that the server which named the host must not name. The connection is
    /// checked again, because a name may get another address at any time.
    func checkAddresses(of url: ServiceURL) async throws(AuthorityError) {
        guard let namer, environment.route(to: url) == .direct, url.host != namer else { return }
        let addresses = await NameLookUp.addresses(of: url.host)
        guard addresses.contains(where: { HostPlace(of: $0) != .everywhere }) else { return }
        // The server may have answered an earlier process.
        if !places.isKnown(namer) { places.note(await NameLookUp.addresses(of: namer), of: namer) }
        for address in addresses {
            if let flaw = places.flaw(of: address, at: url.host, namedBy: namer) { throw .misconfigured(flaw) }
        }
    }

    func peer(of url: ServiceURL) -> Peer {
        if case .proxy(let proxy) = environment.route(to: url) {
            let host = proxy.host.contains(":") ? "[\(proxy.host)]" : proxy.host
            return Peer(host: host, port: proxy.port, isProxy: true)
        }
        return Peer(url)
    }

    func client(for request: ServiceRequest) throws(AuthorityError) -> HTTPClient {
        if request.url.scheme == "https", let problem = environment.certificateProblem() {
            throw .untrustedTLS(problem)
        }
        let route = environment.route(to: request.url)
        if case .impossible(let problem) = route { throw .misconfigured(problem) }
        let way = Way(
            host: request.url.host, namer: namer, usesTLS: request.url.scheme == "https", isProxied: route != .direct,
            isExchange: request.tokenRequestTimeout != nil)
        return clients.client(way) { configuration(way) }
    }

    func clientRequest(_ request: ServiceRequest, _ exchange: ExchangeBody? = nil) -> HTTPClientRequest {
        var result = HTTPClientRequest(url: request.url.description)
        result.method = HTTPMethod(rawValue: request.method.rawValue)
        for field in request.headerFields { result.headers.add(name: field.name.rawName, value: field.value) }
        // Without `Accept-Encoding`, a server may use any coding (RFC 9110, section 12.5.3).
        for (name, value) in [
            ("User-Agent", Self.userAgent), ("Accept", "application/json"), ("Accept-Encoding", "identity"),
        ] where !result.headers.contains(name: name) {
            result.headers.add(name: name, value: value)
        }
        if let body = request.body { result.body = .bytes(body) }
        if let authorization = request.authorization {
            result.headers.add(name: "Authorization", value: authorization.fieldValue)
        }
        if let form = request.form {
            result.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            result.body = exchange.map { .stream($0, length: .known($0.byteCount)) } ?? .bytes(form.bytes)
        }
        // Close the connection after each token request. Their client sends no other requests, so each of them has its
        // own connection.
        if exchange != nil { result.headers.add(name: "Connection", value: "close") }
        return result
    }

    /// - Parameters:
    ///   - limit: The maximum length of the body. If it is 0, this method does not wait for the body, which may be endless.
    ///   - interruption: Returns the failure for an error after which the part of the body that arrived is the result.
    func read(
        _ response: HTTPClientResponse, limit: Int, receivedAt: Date,
        keepingPartAfter interruption: ((any Error) -> AuthorityError)? = nil
    ) async throws -> ServiceResponse {
        var whole = ServiceResponse(head: Self.head(of: response), body: WipedBytes(), receivedAt: receivedAt)
        guard limit > 0 else {
            whole.isBodyWhole = false
            return whole
        }
        do {
            for try await part in response.body {
                guard whole.body.count + part.readableBytes <= limit else {
                    // Leaving the loop closes the connection.
                    whole.body = WipedBytes()
                    whole.isBodyWhole = false
                    break
                }
                whole.body.append(contentsOf: part.readableBytesView)
                // Zero the buffer: it may contain tokens, and the library frees its memory without clearing it.
                part.withUnsafeReadableBytes { Wiping.zero($0) }
            }
        } catch {
            guard let interruption else { throw error }
            whole.interruption = interruption(error)
        }
        return whole
    }

    /// Zeroes a copy of the token that is no longer needed. The sent copy is already zeroed.
    static func wipeToken(in request: HTTPClientRequest) {
        for var field in request.headers["Authorization"] where field.utf8.count > 15 {
            field.withUTF8 { Wiping.zero(UnsafeRawBufferPointer($0)) }
        }
    }

    static func head(of response: HTTPClientResponse) -> HTTPResponse {
        var head = HTTPResponse(status: .init(code: Int(response.status.code)))
        for (name, value) in response.headers {
            // The parser has already rejected invalid names.
            if let name = HTTPField.Name(name) { head.headerFields.append(HTTPField(name: name, value: value)) }
        }
        return head
    }

    static let userAgent = "AccountKit/" + accountKitVersion
}

extension AuthorityError {
    func notSent(at stage: Failure.Stage) -> AuthorityError {
        switch self {
        case .noResponse(var failure):
            if failure.stage == .sent { failure.stage = stage }
            return .noResponse(failure)
        default: return wasCertainlyNotCarriedOut ? self : .notSent(self)
        }
    }
}

extension ProxyAddress {
    fileprivate var setting: HTTPClient.Configuration.Proxy {
        switch kind {
        case .socks: .socksServer(host: host, port: port)
        case .http:
            .server(
                host: host, port: port,
                authorization: credentials.map {
                    .basic(credentials: $0.reveal().utf8.base64)
                })
        }
    }
}
