import AccountSupport
import AccountKit
import AccountNetwork
import AsyncHTTPClient
import FoundationEssentials
import HTTPTypes
import InMemoryLogging
import Logging
import NIOPosix
import NIOSSL
import Testing

@testable import AccountHTTP

/// Failures as sockets and TLS report them. ``TransportFailureTests`` has the mapping of errors that no test server causes.
@Suite("Requests over real sockets", .timeLimit(.minutes(15)))
struct HTTPTransportTests {
    /// Sends a request with the canary as its token.
    private func get(
        _ address: String, timeout: Duration = .seconds(20), transport: HTTPTransport = .shared, logger: Logger? = nil
    ) async throws -> ServiceResponse {
        let request = ServiceRequest(url: try ServiceURL(address), bearer: Secret(canary))
        return try await transport.send(request, timeout: timeout, clock: FixedClock(), logger: logger)
    }

    private func failure(_ address: String, timeout: Duration = .seconds(20)) async -> AuthorityError? {
        let signal = await asyncFailure { try await get(address, timeout: timeout) }
        if case .noResponse(let failure)? = signal, failure.kind != .cancelled {
            #expect(failure.host == (try? ServiceURL(address))?.host && failure.port != nil, "\(failure)")
        }
        return kind(signal)
    }

    // MARK: Sending and reading

    @Test("Sends only the necessary header fields, and returns the response")
    func exchange() async throws {
        try await LoopbackServer.run { _, _ in
            .response(418, ["X-One": "1", "x-one": "2", "Date": "Fri, 15 Jan 2027 08:00:00 GMT"], "grüße")
        } _: { server in
            let response = try await get(server.address + "/a?b=c")
            #expect(response.status == 418)
            #expect(response.head.headerFields[values: try #require(HTTPField.Name("X-ONE"))] == ["1", "2"])
            #expect(String(decoding: response.body, as: UTF8.self) == "grüße")
            #expect(response.receivedAt == FixedClock().now)
            #expect(response.date == FixedClock().now)

            let request = try #require(server.requests.first)
            #expect(request.method == "GET")
            #expect(request.target == "/a?b=c")
            #expect(
                request.headers == [
                    "host": "127.0.0.1:\(server.port)", "user-agent": "AccountKit/0.1.0", "accept": "application/json",
                    "accept-encoding": "identity", "authorization": "Bearer \(canary)",
                ])
        }
    }

    @Test(arguments: [0, 1])
    func `Reads a response body of 1 MiB, but not of one byte more`(_ more: Int) async throws {
        try await LoopbackServer.run { _, _ in
            .response(200, [:], String(repeating: "x", count: ServiceResponse.bodyLimit + more))
        } _: { server in
            let response = try await get(server.address)
            #expect(response.isBodyWhole == (more == 0))
            #expect(response.body.count == (more == 0 ? ServiceResponse.bodyLimit : 0))
        }
    }

    @Test func `Stops reading an endless response body`() async throws {
        let chunk = "10000\r\n" + String(repeating: "x", count: 0x10000) + "\r\n"
        try await LoopbackServer.run { _, _ in
            .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + String(repeating: chunk, count: 32))
        } _: { server in
            let response = try await get(server.address)
            #expect(!response.isBodyWhole)
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `Follows no redirect, and sends no token to the other server`(status: Int) async throws {
        try await LoopbackServer.run { _, _ in
            .json(#"{"sub":"248289761001"}"#)
        } _: { other in
            let target = other.address
            try await LoopbackServer.run { _, _ in
                .response(status, ["Location": target + "/stolen"])
            } _: { server in
                let authority = try OAuthAuthority.direct(server)
                let kept = account(at: authority.issuer, refreshToken: canary)
                let signals = [
                    await asyncFailure { try await authority.verify(kept) },
                    await asyncFailure { try await authority.refresh(kept) },
                    await asyncFailure { try await authority.revoke(kept) },
                ]
                #expect(signals.map { kind($0) } == Array(repeating: .intercepted("…"), count: 3))
                #expect(server.requests.count == 3)
                #expect(other.requests.isEmpty)
            }
        }
    }

    @Test func `Logs only method, host, path and status of a request`() async throws {
        try await LoopbackServer.run { request, _ in
            request.target.hasPrefix("/cut") ? .reset : .json("{}")
        } _: { server in
            let handler = InMemoryLogHandler()
            var logger = Logger(label: "test") { _ in handler }
            logger.logLevel = .trace
            _ = try await get(server.address + "/userinfo?secret=\(canary)", logger: logger)
            _ = await asyncFailure { try await get(server.address + "/cut", logger: logger) }
            #expect(
                handler.entries.map { "\($0.level) \($0.message) \($0.metadata)" } == [
                    "debug GET 127.0.0.1:\(server.port)/userinfo 200 [:]",
                    "debug GET 127.0.0.1:\(server.port)/cut failed: "
                        + "noResponse(the connection to 127.0.0.1:\(server.port) was interrupted) [:]",
                ])
        }
    }

    // MARK: No response

    @Test("Reports a refused connection")
    func refused() async {
        #expect(await failure("http://127.0.0.1:1") == .noResponse(.refused))
        // The name has several addresses, and none of them listens.
        #expect(await failure("http://localhost:1") == .noResponse(.refused))
    }

    @Test("Reports a host without an address (RFC 6761, section 6.4)")
    func unknownHost() async {
        #expect(await failure("https://nobody.invalid/") == .noResponse(.unknownHost))
    }

    @Test("Reports a connection that is closed at once")
    func closedAtOnce() async throws {
        try await LoopbackServer.run(greeting: .sendAndClose("")) { server in
            #expect(await failure(server.address) == .noResponse(.reset))
        }
    }

    @Test("Reports a connection that is closed or reset after the request")
    func closedAfterRequest() async throws {
        try await LoopbackServer.run { request, _ in
            request.target == "/reset" ? .reset : .sendAndClose("")
        } _: { server in
            #expect(await failure(server.address + "/reset") == .noResponse(.reset))
            #expect(await failure(server.address + "/close") == .noResponse(.reset))
        }
    }

    @Test(
        "Reports a truncated response",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"sub\":",
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\nContent-Length: 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"su",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"sub\r\n",
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\n",
        ])
    func truncated(_ response: String) async throws {
        try await LoopbackServer.run { _, _ in
            .sendAndClose(response)
        } _: { server in
            #expect(await failure(server.address) == .noResponse(.truncated))
        }
    }

    @Test("Reports a connection that is reset within the body")
    func resetInBody() async throws {
        let (heads, head) = AsyncStream.makeStream(of: Void.self)
        try await LoopbackServer.run { _, _ in
            .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        } _: { server in
            let request = ServiceRequest(url: try ServiceURL(server.address))
            async let thrown = asyncFailure {
                try await HTTPTransport.shared.send(
                    request, timeout: .seconds(600), clock: SignallingClock(asked: head), logger: nil)
            }
            for await _ in heads { break }
            server.resetConnections()
            #expect(kind(await thrown) == .noResponse(.truncated))
        }
    }

    @Test(
        "Reports a response that is not HTTP",
        arguments: [
            "SSH-2.0-OpenSSH_9.2\r\n", "220 mail.example ESMTP\r\n", "\u{0}\u{1}\u{2}\u{3}\r\n\r\n",
            "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: " + String(repeating: "y", count: 200_000) + "\r\n\r\n",
        ])
    func garbled(_ response: String) async throws {
        try await LoopbackServer.run { _, _ in
            .send(response)
        } _: { server in
            #expect(await failure(server.address) == .noResponse(.garbled))
        }
    }

    @Test(
        "Reports a timeout before a response or within a response",
        arguments: [nil, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"])
    func timeout(_ beginning: String?) async throws {
        try await LoopbackServer.run { _, _ in
            beginning.map { .send($0) } ?? .stall
        } _: { server in
            #expect(await failure(server.address, timeout: .milliseconds(150)) == .noResponse(.timeout))
        }
    }

    /// Signals each read of the time, which happens when the head of a response has arrived.
    private struct SignallingClock: WallClock {
        let asked: AsyncStream<Void>.Continuation
        var now: Date {
            asked.yield()
            return FixedClock().now
        }
    }

    @Test("Stops a request on cancellation at any stage")
    func cancelled() async throws {
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await failure("http://127.0.0.1:9")
        }
        #expect(await early.value == .noResponse(.cancelled))

        let (events, event) = AsyncStream.makeStream(of: Void.self)
        try await LoopbackServer.run { request, _ in
            if request.target == "/body" { return .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{") }
            event.yield()
            return .stall
        } _: { server in
            for path in ["/head", "/body"] {
                let request = ServiceRequest(url: try ServiceURL(server.address + path))
                let task = Task {
                    await asyncFailure {
                        try await HTTPTransport.shared.send(
                            request, timeout: .seconds(600), clock: SignallingClock(asked: event), logger: nil)
                    }
                }
                for await _ in events { break }
                task.cancel()
                #expect(await task.value == .noResponse(.cancelled))
            }
        }
    }

    // MARK: TLS

    /// A transport that trusts this certificate.
    private func withTransport<Result>(
        trusting certificate: TestCertificate, proxy: Int? = nil, _ body: (HTTPTransport) async throws -> Result
    ) async throws -> Result {
        let environment = NetworkEnvironment { name in
            proxy.flatMap { name == "HTTPS_PROXY" ? "http://127.0.0.1:\($0)" : nil }
        }
        let trusted = certificate.certificate
        let transport = HTTPTransport(environment: environment) {
            $0.tlsConfiguration?.trustRoots = .certificates([trusted])
        }
        return try await body(transport)
    }

    @Test("Rejects a self-signed certificate")
    func selfSigned() async throws {
        let certificate = try TestCertificate(TestCertificate.localhost)
        try await LoopbackServer.run(tls: certificate.serverContext()) { server in
            let signal = await asyncFailure { try await get("https://localhost:\(server.port)") }
            #expect(
                signal == .untrustedTLS("the certificate of localhost:\(server.port) is not trusted, or has expired"))
            #expect(server.requests.isEmpty)
        }
    }

    /// `CertificateNamesTests` has the table of names. NIOSSL accepts an address in a certificate for any name, and the
    /// common name.
    @Test(arguments: [
        (TestCertificate.otherExample, "localhost"), (TestCertificate.loopbackAddress, "localhost"),
        (TestCertificate.commonName, "localhost"), (TestCertificate.localhost, "127.0.0.1"),
    ])
    func `Rejects a trusted certificate for another host`(certificate: String, host: String) async throws {
        let certificate = try TestCertificate(certificate)
        try await withTransport(trusting: certificate) { transport in
            try await LoopbackServer.run(tls: certificate.serverContext()) { server in
                let thrown = await asyncFailure {
                    try await get("https://\(host):\(server.port)", transport: transport)
                }
                #expect(thrown == .untrustedTLS("the certificate of \(host):\(server.port) is for another host name"))
                #expect(server.requests.isEmpty)
            }
        }
    }

    @Test func `Accepts a trusted certificate for the address in the URL`() async throws {
        let certificate = try TestCertificate(TestCertificate.loopbackAddress)
        try await withTransport(trusting: certificate) { transport in
            try await LoopbackServer.run(tls: certificate.serverContext()) { _, _ in
                .json("{}")
            } _: { server in
                let response = try await get("https://127.0.0.1:\(server.port)", transport: transport)
                #expect(response.status == 200)
            }
        }
    }

    @Test("Accepts a trusted certificate for the right name")
    func trusted() async throws {
        let certificate = try TestCertificate(TestCertificate.localhost)
        try await withTransport(trusting: certificate) { transport in
            try await LoopbackServer.run(tls: certificate.serverContext()) { _, _ in
                .json("{}")
            } _: { server in
                let response = try await get("https://localhost:\(server.port)", transport: transport)
                #expect(response.status == 200)
            }
        }
    }

    @Test func `Rejects a server without TLS, and reports a closed handshake`() async throws {
        try await LoopbackServer.run(greeting: .send("HTTP/1.1 400 Bad Request\r\n\r\n")) { server in
            let address = "127.0.0.1:\(server.port)"
            let thrown = await asyncFailure { try await get("https://\(address)") }
            let advice = "the port does not speak TLS; if it speaks plain HTTP, use http://\(address)"
            #expect(thrown == .untrustedTLS("TLS with \(address) failed (WRONG_VERSION_NUMBER): \(advice)"))
        }
        try await LoopbackServer.run(greeting: .sendAndClose("")) { server in
            #expect(await failure("https://127.0.0.1:\(server.port)") == .noResponse(.reset))
        }
    }

    // MARK: Networks and users

    @Test func `Connects to no private address that a public server named`() async throws {
        let certificate = try TestCertificate(TestCertificate.localhost)
        let (connections, connection) = AsyncStream.makeStream(of: Void.self)
        try await withTransport(trusting: certificate) { transport in
            try await LoopbackServer.run(tls: certificate.serverContext(), connections: connection) { _, _ in
                .json("{}")
            } _: { server in
                let address = "https://localhost:\(server.port)"
                let limited = transport.reaching(hostsNamedBy: try ServiceURL("https://api.example"))
                let thrown = await asyncFailure { try await get(address, transport: limited) }
                guard case .misconfigured(let text)? = thrown else { throw try #require(thrown) }
                #expect(text.hasPrefix("api.example names localhost, which is on this machine"))

                // The server itself may be on this machine.
                let local = transport.reaching(hostsNamedBy: try ServiceURL("http://127.0.0.1"))
                #expect(try await get(address, transport: local).status == 200)
            }
        }
        connection.finish()
        #expect(await connections.reduce(into: 0) { count, _ in count += 1 } == 1)
    }

    /// A name server may answer the lookup and the connection with different addresses.
    @Test func `Checks the address of the connection itself`() async throws {
        let certificate = try TestCertificate(TestCertificate.localhost)
        try await withTransport(trusting: certificate) { transport in
            try await LoopbackServer.run(tls: certificate.serverContext()) { server in
                let limited = transport.reaching(hostsNamedBy: try ServiceURL("https://api.example"))
                let request = ServiceRequest(url: try ServiceURL("https://localhost:\(server.port)"))
                await #expect(throws: ConnectionRefusal.self) {
                    _ = try await limited.execute(
                        limited.clientRequest(request), to: request.url, by: limited.client(for: request))
                }
                #expect(server.requests.isEmpty)
            }
        }
    }

    #if os(Linux)
    @Test func `Sends nothing without TLS to a program of another user`() async throws {
        let transport = HTTPTransport {
            var check = ConnectionCheck(host: "127.0.0.1", usesTLS: false)
            check.trustedUsers = [4_000_000_000]
            check.install(in: &$0)
        }
        try await LoopbackServer.run { _, _ in
            .json("{}")
        } _: { server in
            for host in ["127.0.0.1", "localhost"] {
                let thrown = await asyncFailure { try await get("http://\(host):\(server.port)", transport: transport) }
                guard case .untrustedTLS(let text)? = thrown else { throw try #require(thrown) }
                #expect(text.contains("belongs to another user of this machine"))
            }
            #expect(server.requests.isEmpty)
        }
    }
    #endif

    // MARK: Proxies

    @Test("Reports a proxy that requires credentials")
    func proxy() async throws {
        try await LoopbackServer.run { _, _ in
            .response(407, ["Proxy-Authenticate": "Basic realm=proxy"])
        } _: { server in
            let certificate = try TestCertificate(TestCertificate.localhost)
            try await withTransport(trusting: certificate, proxy: server.port) { transport in
                let thrown = await asyncFailure {
                    let response = try await get("https://id.example/userinfo", transport: transport)
                    return try ResponseParser(.userInfo).object(in: response)
                }
                #expect(thrown == .proxyAuthenticationRequired)
                #expect(server.requests.map(\.method) == ["CONNECT"])
            }
        }
    }
}
