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

    /// What is sent as a form. A request with one is a POST.
    var form: FormBody?

    /// The method, where it is not to be concluded from the form.
    var method: String?

    /// Further header fields.
    var headers: [HTTPReply.Header] = []

    /// A body that is no form.
    var body: [UInt8]?

    /// How long the reply may be, in bytes.
    var bodyLimit = HTTPReply.bodyLimit

    /// The method.
    var methodName: String { method ?? (form == nil ? "GET" : "POST") }

    /// What the request gives away, and no error may repeat.
    var secrets: [Secret] { (bearer.map { [$0] } ?? []) + (form?.secrets ?? []) }
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
            // Replies are small, and a compressed one may be far larger than it looks.
            decompression: .disabled)
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 32
        // Who is offline should know at once; trying again is for the caller, who knows what it is worth.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    /// Sends a request and reads the reply to its end.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - timeout: How long all of it may take.
    ///   - clock: Tells when the reply came.
    ///   - logger: Gets one line: method, host, path and status. Never a query, a header field or a body.
    func send(
        _ request: HTTPRequest, timeout: Duration, clock: any WallClock, logger: Logger?
    ) async throws(AuthoritySignal) -> HTTPReply {
        let line = "\(request.methodName) \(request.url.authority)\(request.url.path)"
        do {
            let reply = try await exchange(request, timeout: timeout, clock: clock)
            logger?.debug("\(line) \(reply.status)")
            return reply
        } catch {
            logger?.debug("\(line) failed: \(error)")
            throw error
        }
    }

    private enum Outcome: Sendable {
        case reply(HTTPReply)
        case failure(AuthoritySignal)
        case deadline
    }

    /// The client's own deadline ends with the head of the reply; this one is for the body too.
    private func exchange(
        _ request: HTTPRequest, timeout: Duration, clock: any WallClock
    ) async throws(AuthoritySignal) -> HTTPReply {
        let outcome = await withTaskGroup(of: Outcome.self) { group in
            group.addTask { await self.exchange(request, clock: clock) }
            group.addTask {
                // Sleep throws only if the group is cancelled, and then nobody looks at what this returns. A day is the
                // longest sleep, since clocks do not reach as far as durations.
                try? await Task.sleep(for: min(timeout, .seconds(86_400)))
                return .deadline
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? .deadline
        }
        switch outcome {
        case .reply(let reply): return reply
        // Whatever a cancelled request fails with, it is because of that.
        case _ where Task.isCancelled: throw .noReply(.cancelled)
        case .failure(let signal): throw signal
        case .deadline: throw .noReply(.timeout)
        }
    }

    private func exchange(_ request: HTTPRequest, clock: any WallClock) async -> Outcome {
        var phase = TransportFailure.Phase.beforeHead
        do {
            let client = try client(for: request.url)
            let response = try await client.execute(clientRequest(request), deadline: .distantFuture)
            phase = .inBody
            return .reply(try await reply(response, limit: request.bodyLimit, receivedAt: clock.now))
        } catch {
            let signal = TransportFailure.signal(for: error, from: request.url.host, phase)
            return .failure(isByProxy(request.url) ? signal.byProxy : signal)
        }
    }

    private func client(for url: ServiceURL) throws(AuthoritySignal) -> HTTPClient {
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

    private func isByProxy(_ url: ServiceURL) -> Bool {
        if case .proxy = environment.route(to: url) { true } else { false }
    }

    private func clientRequest(_ request: HTTPRequest) -> HTTPClientRequest {
        var result = HTTPClientRequest(url: request.url.description)
        result.method = HTTPMethod(rawValue: request.methodName)
        for header in request.headers { result.headers.add(name: header.name, value: header.value) }
        for (name, value) in [("User-Agent", Self.userAgent), ("Accept", "application/json")]
        where !result.headers.contains(name: name) {
            result.headers.add(name: name, value: value)
        }
        if let body = request.body { result.body = .bytes(body) }
        if let bearer = request.bearer {
            // One string, not one of the token and one of the field.
            var field = WipedBytes("Bearer ".utf8)
            bearer.withUnsafeBytes { field.append(contentsOf: $0) }
            result.headers.add(name: "Authorization", value: String(decoding: field, as: UTF8.self))
        }
        if let form = request.form {
            result.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            result.body = .bytes(form.bytes)
        }
        return result
    }

    private func reply(
        _ response: HTTPClientResponse, limit: Int, receivedAt: Date
    ) async throws -> HTTPReply {
        var reply = HTTPReply(
            status: Int(response.status.code),
            headers: response.headers.map { .init(name: $0.name, value: $0.value) },
            body: WipedBytes(), receivedAt: receivedAt)
        for try await part in response.body {
            guard reply.body.count + part.readableBytes <= limit else {
                // Leaving the loop closes the connection.
                reply.body = WipedBytes()
                reply.isBodyWhole = false
                break
            }
            reply.body.append(contentsOf: part.readableBytesView)
        }
        return reply
    }

    /// What the requests say they come from.
    static let userAgent = "AccountKit/0.1.0"
}

extension AuthoritySignal {
    /// What it means where a proxy is connected to in place of the service.
    fileprivate var byProxy: AuthoritySignal {
        switch self {
        case .noReply(.unknownHost), .noReply(.refused), .noReply(.unreachable): .noReply(.proxy)
        default: self
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
