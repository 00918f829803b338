import AccountKit
import NIOCore
import AccountCrypto
import Testing

@testable import AccountHTTP

/// A token exchange has one time limit until it is sent and another one afterwards. Nothing else interrupts it.
struct ExchangeTests {
    private static let tokens = #"{"access_token":"a2","refresh_token":"r2"}"#

    private func authority(
        _ address: String, timeout: Duration = .seconds(20), tokenRequestTimeout: Duration = .seconds(60)
    ) throws -> OAuthAuthority {
        try OAuthAuthority(
            issuer: address, clientID: "tool", scopes: [], endpoints: .all(at: address), timeout: timeout,
            tokenRequestTimeout: tokenRequestTimeout, clock: FixedClock())
    }

    private static func failure(_ signal: AuthorityError?) -> AuthorityError.Failure? {
        if case .noResponse(let failure)? = signal { failure } else { nil }
    }

    // MARK: After sending

    @Test func `Accepts a token response that arrives after the connection timeout`() async throws {
        let (requests, request) = AsyncStream.makeStream(of: Void.self)
        try await LoopbackServer.run { _, _ in
            request.yield()
            return .stall
        } _: { server in
            let authority = try authority(server.address, timeout: .seconds(5))
            let account = account(at: server.address, refreshToken: "r1")
            let refresh = Task {
                // If the refresh fails before its request, the test must not wait for the request.
                defer { request.finish() }
                return try await authority.refresh(account)
            }
            var received = requests.makeAsyncIterator()
            await received.next()
            // This request begins later and has the same timeout, so the refresh has exceeded that timeout too.
            #expect(kind(await asyncFailure { try await authority.verify(account) }) == .noResponse(.timeout))
            server.answer(.json(Self.tokens))
            #expect(try await refresh.value.refreshToken == Secret("r2"))
        }
    }

    @Test func `Returns the token response to a cancelled caller`() async throws {
        let (requests, request) = AsyncStream.makeStream(of: Void.self)
        try await LoopbackServer.run { _, _ in
            request.yield()
            return .stall
        } _: { server in
            let authority = try authority(server.address)
            let account = account(at: server.address, refreshToken: "r1")
            let refresh = Task {
                defer { request.finish() }
                return try await authority.refresh(account)
            }
            for await _ in requests { break }
            refresh.cancel()
            server.answer(.json(Self.tokens))
            #expect(try await refresh.value.accessToken == Secret("a2"))
        }
    }

    @Test func `Reports an unknown result if a sent token request times out`() async throws {
        try await LoopbackServer.run { server in
            let authority = try authority(server.address, tokenRequestTimeout: .milliseconds(150))
            let signal = await asyncFailure {
                try await authority.refresh(account(at: server.address, refreshToken: "r"))
            }
            #expect(Self.failure(signal)?.kind == .timeout)
            #expect(Self.failure(signal)?.stage == .sent)
            #expect(signal?.wasCertainlyNotCarriedOut == false)
        }
    }

    @Test func `Reads the tokens in a response that never ends`() async throws {
        try await LoopbackServer.run { _, _ in
            .send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + Self.tokens)
        } _: { server in
            let authority = try authority(server.address, tokenRequestTimeout: .milliseconds(300))
            let credentials = try await authority.refresh(account(at: server.address, refreshToken: "r1"))
            #expect(credentials.refreshToken == Secret("r2"))
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n\(tokens)",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2a\r\n\(tokens)\r\n",
    ])
    func `Reads the tokens in a truncated response`(response: String) async throws {
        try await LoopbackServer.run { _, _ in
            .sendAndClose(response)
        } _: { server in
            let account = account(at: server.address, refreshToken: "r1")
            let credentials = try await authority(server.address).refresh(account)
            #expect(credentials.accessToken == Secret("a2") && credentials.refreshToken == Secret("r2"))
        }
    }

    @Test func `Reports a truncated response without tokens`() async throws {
        try await LoopbackServer.run { _, _ in
            .sendAndClose("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"access_token\":\"a")
        } _: { server in
            let account = account(at: server.address, refreshToken: "r1")
            let signal = await asyncFailure { try await authority(server.address).refresh(account) }
            #expect(Self.failure(signal)?.kind == .truncated)
        }
    }

    @Test func `Sends a token request once, as a form of known length`() async throws {
        try await LoopbackServer.run { _, _ in
            .json(Self.tokens)
        } _: { server in
            _ = try await authority(server.address).refresh(account(at: server.address, refreshToken: "r"))
            let request = try #require(server.requests.first)
            #expect(request.headers["content-length"] == "\(request.body.utf8.count)")
            #expect(request.headers["transfer-encoding"] == nil)
            #expect(request.body == "grant_type=refresh_token&refresh_token=r&client_id=tool")
            #expect(server.requests.count == 1)
        }
    }

    /// A server may close a reused connection at that moment. Then the client cannot know whether the token is spent.
    @Test func `Opens a new connection for each exchange`() async throws {
        try await LoopbackServer.run { request, _ in
            .json(request.target == "/token" ? Self.tokens : #"{"sub":"248289761001"}"#)
        } _: { server in
            let authority = try authority(server.address)
            let account = account(at: server.address, refreshToken: "r")
            for _ in 1...2 {
                _ = try await authority.verify(account)
                _ = try await authority.refresh(account)
            }
            let exchanges = server.requests.filter { $0.target == "/token" }
            #expect(exchanges.map { $0.headers["connection"] } == ["close", "close"])
            for exchange in exchanges {
                #expect(server.requests.filter { $0.clientPort == exchange.clientPort } == [exchange])
            }
        }
    }

    // MARK: Before sending

    /// A server that accepts connections and sends nothing, so that the TLS handshake does not progress.
    private func withSilentServer(
        connections: AsyncStream<Void>.Continuation? = nil,
        _ body: (_ address: String, LoopbackServer) async throws -> Void
    ) async throws {
        try await LoopbackServer.run(connections: connections) { server in
            try await body("https://127.0.0.1:\(server.port)", server)
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `Sends no token request if the caller is cancelled while connecting`() async throws {
        let (connections, connection) = AsyncStream.makeStream(of: Void.self)
        try await withSilentServer(connections: connection) { address, _ in
            let authority = try authority(address)
            let refresh = Task {
                await asyncFailure { try await authority.refresh(account(at: address, refreshToken: "r")) }
            }
            for await _ in connections { break }
            refresh.cancel()
            let signal = await refresh.value
            #expect(Self.failure(signal)?.kind == .cancelled)
            #expect(signal?.wasCertainlyNotCarriedOut == true)
        }
    }

    @Test func `Sends no token request if the connection times out`() async throws {
        try await withSilentServer { address, server in
            let authority = try authority(address, timeout: .milliseconds(150))
            let signal = await asyncFailure { try await authority.refresh(account(at: address, refreshToken: "r")) }
            #expect(
                signal == .noResponse(.init(.timeout, host: "127.0.0.1", port: server.port, stage: .connection)))
            #expect(
                signal.map { "\(SessionDecision.afterRefresh($0))" }?
                    .contains("connection to 127.0.0.1:\(server.port) timed out") == true)
            #expect(signal?.wasCertainlyNotCarriedOut == true)
        }
    }

    @Test func `Sends no token request from a task that was already cancelled`() async throws {
        try await LoopbackServer.run { server in
            let authority = try authority(server.address)
            let signal = await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await asyncFailure {
                    try await authority.refresh(account(at: server.address, refreshToken: "r"))
                }
            }.value
            #expect(Self.failure(signal)?.kind == .cancelled)
            #expect(signal?.wasCertainlyNotCarriedOut == true)
            #expect(server.requests.isEmpty)
        }
    }

    @Test(arguments: [.response(503), .json("[]"), .reset, .response(302)] as [LoopbackServer.Action])
    func `Sends no refresh token if discovery fails`(
        action: LoopbackServer.Action
    ) async throws {
        try await LoopbackServer.run { _, _ in
            action
        } _: { server in
            let signal = await asyncFailure {
                try await OAuthAuthority.test(server.address).refresh(account(at: server.address, refreshToken: "r"))
            }
            #expect(signal?.wasCertainlyNotCarriedOut == true, "\(String(describing: signal))")
            #expect(server.requests.allSatisfy { $0.method == "GET" })
        }
    }

    // MARK: Prepared exchanges

    @Test func `Connects for a prepared refresh, and sends the token on release`() async throws {
        let (connections, connection) = AsyncStream.makeStream(of: Void.self)
        try await LoopbackServer.run(connections: connection) { _, _ in
            .json(Self.tokens)
        } _: { server in
            let authority = try authority(server.address)
            let account = account(at: server.address, refreshToken: "r1")
            let exchange = try await authority.prepare(.refresh, of: account)
            for await _ in connections { break }
            #expect(server.requests.isEmpty)
            #expect(try await exchange.send { true }.refreshToken == Secret("r2"))
            #expect(server.requests.count == 1)
            exchange.abandon()
        }
    }

    @Test func `Sends no token of a prepared refresh if its condition fails`() async throws {
        try await LoopbackServer.run { _, _ in
            .json(Self.tokens)
        } _: { server in
            let authority = try authority(server.address)
            let account = account(at: server.address, refreshToken: "r1")
            let target = try TokenTarget(scopes: ["read"])
            for request in [TokenRequest.refresh, .derivation(target, .refresh)] {
                let exchange = try await authority.prepare(request, of: account)
                #expect(await asyncFailure { try await exchange.send { false } } == .leaseLost)
            }
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `Sends no token of an abandoned refresh`() async throws {
        try await LoopbackServer.run { _, _ in
            .json(Self.tokens)
        } _: { server in
            let authority = try authority(server.address)
            let exchange = try await authority.prepare(
                .refresh, of: account(at: server.address, refreshToken: "r1"))
            exchange.abandon()
            let signal = await asyncFailure { try await exchange.send { true } }
            #expect(signal?.wasCertainlyNotCarriedOut == true, "\(String(describing: signal))")
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `Applies the timeout of a prepared refresh only to the connection`() async throws {
        try await LoopbackServer.run { request, _ in
            request.target == "/token" ? .json(Self.tokens) : .stall
        } _: { server in
            let authority = try authority(server.address, timeout: .seconds(5))
            let account = account(at: server.address, refreshToken: "r1")
            let exchange = try await authority.prepare(.refresh, of: account)
            // This request begins later and has the same timeout, so the refresh has exceeded that timeout too.
            #expect(kind(await asyncFailure { try await authority.verify(account) }) == .noResponse(.timeout))
            #expect(try await exchange.send { true }.refreshToken == Secret("r2"))
        }
    }

    @Test func `Fails a prepared refresh if its connection is cut`() async throws {
        let (connections, connection) = AsyncStream.makeStream(of: Void.self)
        try await LoopbackServer.run(connections: connection) { server in
            let authority = try authority(server.address)
            let exchange = try await authority.prepare(
                .refresh, of: account(at: server.address, refreshToken: "r1"))
            for await _ in connections { break }
            server.resetConnections()
            // The client notices the reset, or finds the connection closed when it writes.
            let signal = await asyncFailure { try await exchange.send { true } }
            #expect(kind(signal) == .noResponse(.reset), "\(String(describing: signal))")
        }
    }

    // MARK: The point of no return

    @Test func `Does not send an abandoned body, and does not abandon a sent body`() async throws {
        let given = ExchangeBody(WipedBytes("form".utf8))
        #expect(given.giveUp())
        #expect(given.giveUp())
        given.release { true }
        var iterator = given.makeAsyncIterator()
        await #expect(throws: CancellationError.self) { try await iterator.next() }
        #expect(!given.isSent && !given.isConnected)

        let sent = ExchangeBody(WipedBytes("form".utf8))
        sent.release { true }
        iterator = sent.makeAsyncIterator()
        #expect(try await iterator.next() == ByteBuffer(string: "form"))
        #expect(sent.isSent)
        #expect(!sent.giveUp())
        #expect(try await iterator.next() == nil)
        // A second iteration does not send the body again.
        var again = sent.makeAsyncIterator()
        await #expect(throws: CancellationError.self) { try await again.next() }
    }

    @Test func `Sends a body after its release if the condition is true`() async throws {
        for isHeld in [true, false] {
            let body = ExchangeBody(WipedBytes("form".utf8))
            let client = Task {
                var iterator = body.makeAsyncIterator()
                return try await iterator.next()
            }
            for await _ in body.connecting { break }
            #expect(body.isConnected && !body.isSent)
            #expect(!body.giveUp(onlyWhileConnecting: true))
            body.release { isHeld }
            let result = await client.result
            #expect((try? result.get()) == (isHeld ? ByteBuffer(string: "form") : nil))
            #expect(body.isSent == isHeld && body.isDisallowed == !isHeld)
        }
    }

    @Test func `Does not send a body that is abandoned before its release`() async throws {
        let body = ExchangeBody(WipedBytes("form".utf8))
        let client = Task {
            var iterator = body.makeAsyncIterator()
            return try await iterator.next()
        }
        for await _ in body.connecting { break }
        #expect(body.giveUp())
        body.release { true }
        await #expect(throws: CancellationError.self) { try await client.value }
        #expect(!body.isSent)
    }
}
