import AccountKit
import AsyncHTTPClient
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import Sealing
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request to a service.
struct HTTPRequest: Sendable {
    var url: ServiceURL

    /// What the request is allowed to do with: sent in the header, never in the address (RFC 6750, section 5.3).
    var bearer: Secret?

    /// The client's identifier and secret, in base64 (RFC 7617).
    var basic: Secret?

    /// What else no error may repeat.
    var furtherSecrets: [Secret] = []

    /// What is sent as a form. A request with one is a POST.
    var form: FormBody?

    /// The method, where it is not to be concluded from the form.
    var method: String?

    /// Further header fields.
    var headers: [HTTPResponse.Header] = []

    /// How long the response to a form that spends something, such as a code, may take from the first byte on; `nil` if it
    /// spends nothing, and may be given up at any time.
    var exchangeTimeout: Duration?

    /// A body that is no form.
    var body: [UInt8]?

    /// How long the response may be, in bytes.
    var bodyLimit = HTTPResponse.bodyLimit

    /// The method.
    var methodName: String { method ?? (form == nil ? "GET" : "POST") }

    /// What the request gives away, and no error may repeat.
    var secrets: [Secret] { [bearer, basic].compactMap(\.self) + furtherSecrets + (form?.secrets ?? []) }
}

/// Sends requests: over verified TLS or on the loopback interface, following nothing, waiting for nothing for ever.
struct HTTPTransport: Sendable {
    /// The way to a service, as the environment has it.
    let environment: NetworkEnvironment

    private let clients: LazyClients

    /// The clients of a transport. Making them starts threads, and most commands make no request.
    private final class LazyClients: Sendable {
        struct Pair {
            let direct: HTTPClient

            /// The same client by way of the proxy, if there is one.
            let proxy: HTTPClient?
        }

        private let made: Mutex<Pair?>
        private let make: @Sendable () -> Pair

        init(make: @escaping @Sendable () -> Pair) {
            made = Mutex(nil)
            self.make = make
        }

        var pair: Pair {
            made.withLock { made in
                if let made { return made }
                let pair = make()
                made = pair
                return pair
            }
        }
    }

    init(client: HTTPClient, environment: NetworkEnvironment = .none, proxyClient: HTTPClient? = nil) {
        self.environment = environment
        clients = LazyClients { LazyClients.Pair(direct: client, proxy: proxyClient) }
    }

    /// The transport of the process.
    ///
    /// Never shut down, on purpose: it is for the life of the process, costs nothing until its first request, drops idle
    /// connections by itself, and leaves its threads to NIO's own shared group, which is not shut down either.
    static let shared = HTTPTransport(environment: .current)

    /// The transport for an environment.
    init(environment: NetworkEnvironment) {
        self.environment = environment
        clients = LazyClients {
            LazyClients.Pair(
                direct: HTTPClient(configuration: Self.configuration(environment)),
                proxy: environment.proxy.map {
                    HTTPClient(configuration: Self.configuration(environment, by: $0.address))
                })
        }
    }

    /// How all requests are sent.
    static func configuration(
        _ environment: NetworkEnvironment = .none, by proxy: ProxyAddress? = nil
    ) -> HTTPClient.Configuration {
        var tls = TLSConfiguration.makeClientConfiguration()
        if let file = environment.certificateFile { tls.trustRoots = .file(file.value) }
        tls.certificateVerification = .fullVerification
        tls.minimumTLSVersion = .tlsv12
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            // A redirect could take a token to another server.
            redirectConfiguration: .disallow,
            // How long all of it may take is up to each request. The first is for the wait for a free connection too.
            timeout: .init(connect: .seconds(60)),
            // A short idle time: a reused connection that the service has just closed looks like a failure.
            connectionPool: .init(idleTimeout: .seconds(15)),
            proxy: proxy?.setting,
            // Responses are small, and a compressed one may be far larger than it looks.
            decompression: .disabled)
        configuration.httpVersion = .http1Only
        configuration.http1_1ConnectionDebugInitializer = { WipingHandler.install(in: $0) }
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 32
        // Who is offline should know at once; trying again is for the caller, who knows what it is worth.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    /// Sends a request and reads the response to its end.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - timeout: How long all of it may take; of an exchange, how long it may take until it is sent.
    ///   - clock: Tells when the response came.
    ///   - logger: Gets one line: method, host, path and status. Never a query, a header field or a body.
    func send(
        _ request: HTTPRequest, timeout: Duration, clock: any WallClock, logger: Logger?
    ) async throws(AuthorityError) -> HTTPResponse {
        let line = "\(request.methodName) \(request.url.authority)\(request.url.path)"
        do {
            let response = try await exchange(request, timeout: timeout, clock: clock)
            logger?.debug("\(line) \(response.status)")
            return response
        } catch {
            logger?.debug("\(line) failed: \(error)")
            throw error
        }
    }

    private enum Event: Sendable {
        case response(HTTPResponse)
        case failure(AuthorityError)
        case halfTime
        case deadline
        case exchangeDeadline
        case cancelled
    }

    private func exchange(
        _ request: HTTPRequest, timeout: Duration, clock: any WallClock
    ) async throws(AuthorityError) -> HTTPResponse {
        if Task.isCancelled { throw peer(of: request.url).failure(.cancelled, .connection) }
        let (cancellations, cancellation) = AsyncStream.makeStream(of: Void.self)
        // In a task of its own, which is not cancelled with the caller's: whether that ends the request is decided there.
        let task = Task {
            await self.outcome(of: request, timeout: timeout, cancellations: cancellations, clock: clock)
        }
        let outcome = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            cancellation.yield()
        }
        return try outcome.get()
    }

    /// The client's own deadline ends with the head of the response; this one is for the body too.
    private func outcome(
        of request: HTTPRequest, timeout: Duration, cancellations: AsyncStream<Void>, clock: any WallClock
    ) async -> Result<HTTPResponse, AuthorityError> {
        let peer = peer(of: request.url)
        let exchange = request.exchangeTimeout.flatMap { limit in
            request.form.map { (body: ExchangeBody($0.bytes), limit: limit) }
        }
        let body = exchange?.body
        let lookUp = NameLookUp(of: peer.host)
        return await withTaskGroup(of: Event.self) { group in
            group.addTask { await self.exchange(request, body, peer, clock: clock) }
            group.addTask {
                await Self.sleep(timeout / 2)
                return .halfTime
            }
            group.addTask {
                await Self.sleep(timeout)
                return .deadline
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
                case .response(let response): return .success(response)
                case .failure(let failure): return .failure(failure)
                case .halfTime: if body?.isSent != true { lookUp.begin() }
                case .deadline:
                    guard body?.giveUp() ?? true else { continue }
                    let stage: AuthorityError.Failure.Stage? =
                        lookUp.isUnderWay ? .nameLookUp : body == nil ? nil : .connection
                    return .failure(peer.failure(.timeout, stage))
                case .cancelled:
                    guard body?.giveUp() ?? true else { continue }
                    return .failure(peer.failure(.cancelled, body == nil ? nil : .connection))
                case .exchangeDeadline: return .failure(peer.failure(.timeout, .sent))
                }
            }
            return .failure(peer.failure(.cancelled, nil))
        }
    }

    private static func sleep(_ duration: Duration) async {
        // It throws only if the group is cancelled, and then nobody looks at what comes after. A day is the longest sleep,
        // since clocks do not reach as far as durations.
        try? await Task.sleep(for: min(duration, .seconds(86_400)))
    }

    private func exchange(
        _ request: HTTPRequest, _ body: ExchangeBody?, _ peer: Peer, clock: any WallClock
    ) async -> Event {
        var phase = TransportFailure.Phase.beforeHead
        let start = ContinuousClock.now
        do {
            let client = try client(for: request.url)
            let sent = clientRequest(request, body)
            let response = try await client.execute(sent, deadline: .distantFuture)
            phase = .inBody
            // What was sent of it is zeroed already; nobody needs the field any more.
            for var field in sent.headers["Authorization"] where field.utf8.count > 15 {
                field.withUTF8 { Wiping.zero(UnsafeRawBufferPointer($0)) }
            }
            return .response(try await read(response, limit: request.bodyLimit, receivedAt: clock.now))
        } catch {
            let failure = TransportFailure.failure(for: error, from: peer, phase, after: start.duration(to: .now))
            let isUnsent = phase == .beforeHead && body.map { !$0.isSent } ?? false
            return .failure(isUnsent ? failure.beforeSending : failure)
        }
    }

    /// Whom a request is sent to at first: the service, or the proxy on the way.
    private func peer(of url: ServiceURL) -> Peer {
        if case .proxy(let proxy) = environment.route(to: url) {
            let host = proxy.host.contains(":") ? "[\(proxy.host)]" : proxy.host
            return Peer(host: host, port: proxy.port, isProxy: true)
        }
        return Peer(url)
    }

    private func client(for url: ServiceURL) throws(AuthorityError) -> HTTPClient {
        if url.scheme == "https", let problem = environment.certificateProblem() { throw .untrustedTLS(problem) }
        switch environment.route(to: url) {
        case .direct: return clients.pair.direct
        case .impossible(let problem): throw .misconfigured(problem)
        case .proxy:
            guard let proxyClient = clients.pair.proxy else {
                throw .misconfigured("there is a proxy, and no way to it was prepared")
            }
            return proxyClient
        }
    }

    private func clientRequest(_ request: HTTPRequest, _ exchange: ExchangeBody?) -> HTTPClientRequest {
        var result = HTTPClientRequest(url: request.url.description)
        result.method = HTTPMethod(rawValue: request.methodName)
        for header in request.headers { result.headers.add(name: header.name, value: header.value) }
        for (name, value) in [("User-Agent", Self.userAgent), ("Accept", "application/json")]
        where !result.headers.contains(name: name) {
            result.headers.add(name: name, value: value)
        }
        if let body = request.body { result.body = .bytes(body) }
        for (scheme, credentials) in [("Bearer ", request.bearer), ("Basic ", request.basic)] {
            guard let credentials else { continue }
            // One string, not one of the token and one of the field.
            var field = WipedBytes(scheme.utf8)
            credentials.withUnsafeBytes { field.append(contentsOf: $0) }
            result.headers.add(name: "Authorization", value: String(decoding: field, as: UTF8.self))
        }
        if let form = request.form {
            result.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            result.body = exchange.map { .stream($0, length: .known($0.length)) } ?? .bytes(form.bytes)
        }
        return result
    }

    private func read(
        _ response: HTTPClientResponse, limit: Int, receivedAt: Date
    ) async throws -> HTTPResponse {
        var whole = HTTPResponse(
            status: Int(response.status.code),
            headers: response.headers.map { .init(name: $0.name, value: $0.value) },
            body: WipedBytes(), receivedAt: receivedAt)
        for try await part in response.body {
            guard whole.body.count + part.readableBytes <= limit else {
                // Leaving the loop closes the connection.
                whole.body = WipedBytes()
                whole.isBodyWhole = false
                break
            }
            whole.body.append(contentsOf: part.readableBytesView)
            // It may hold tokens, and its memory would be given back as it is.
            part.withUnsafeReadableBytes { Wiping.zero($0) }
        }
        return whole
    }

    /// What the requests say they come from.
    static let userAgent = "AccountKit/0.1.0"
}

extension AuthorityError {
    /// The failure for a request of which nothing was sent.
    var beforeSending: AuthorityError {
        switch self {
        case .noResponse(var failure):
            if failure.stage == .sent { failure.stage = .connection }
            return .noResponse(failure)
        default: return wasCertainlyNotCarriedOut ? self : .notSent(self)
        }
    }
}

extension ProxyAddress {
    /// The proxy, for the client.
    fileprivate var setting: HTTPClient.Configuration.Proxy {
        switch kind {
        case .socks: .socksServer(host: host, port: port)
        case .http:
            .server(
                host: host, port: port,
                authorization: credentials.map {
                    .basic(credentials: Data($0.reveal().utf8).base64EncodedString())
                })
        }
    }
}
