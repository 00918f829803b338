import AccountKit
import NIOCore
import Sealing
import Testing

@testable import AccountHTTP

/// A token exchange has two limits: one until it is sent, and one from then on, which nothing else cuts short.
struct ExchangeTests {
    private static let tokens = #"{"access_token":"a2","refresh_token":"r2"}"#

    private func authority(
        _ address: String, timeout: Duration = .seconds(20), exchangeTimeout: Duration = .seconds(60)
    ) throws -> OAuthAuthority {
        try OAuthAuthority(
            issuer: address, clientID: "tool", scopes: [], endpoints: .all(at: address), timeout: timeout,
            exchangeTimeout: exchangeTimeout, clock: FixedClock())
    }

    private static func failure(_ signal: AuthorityError?) -> AuthorityError.Failure? {
        if case .noResponse(let failure)? = signal { failure } else { nil }
    }

    // MARK: After it was sent

    @Test func `A response that comes after the timeout still counts`() async throws {
        let (requests, request) = AsyncStream.makeStream(of: Void.self)
        try await LoopbackServer.run { _, _ in
            request.yield()
            return .stall
        } _: { server in
            let authority = try authority(server.address, timeout: .seconds(1))
            let account = account(at: server.address, refreshToken: "r1")
            let refresh = Task { try await authority.refresh(account) }
            var received = requests.makeAsyncIterator()
            await received.next()
            // Begun later, and cut off by the same timeout: so that of the refresh is over too.
            #expect(kind(await asyncFailure { try await authority.verify(account) }) == .noResponse(.timeout))
            server.answer(.json(Self.tokens))
            #expect(try await refresh.value.refreshToken == Secret("r2"))
        }
    }

    @Test func `A caller who is cancelled gets the response all the same`() async throws {
        let (requests, request) = AsyncStream.makeStream(of: Void.self)
        try await LoopbackServer.run { _, _ in
            request.yield()
            return .stall
        } _: { server in
            let authority = try authority(server.address)
            let account = account(at: server.address, refreshToken: "r1")
            let refresh = Task { try await authority.refresh(account) }
            for await _ in requests { break }
            refresh.cancel()
            server.answer(.json(Self.tokens))
            #expect(try await refresh.value.accessToken == Secret("a2"))
        }
    }

    @Test func `Its own limit ends the wait, and then nobody knows whether it was carried out`() async throws {
        try await LoopbackServer.run { server in
            let authority = try authority(server.address, exchangeTimeout: .milliseconds(150))
            let signal = await asyncFailure {
                try await authority.refresh(account(at: server.address, refreshToken: "r"))
            }
            #expect(Self.failure(signal)?.kind == .timeout)
            #expect(Self.failure(signal)?.stage == .sent)
            #expect(signal?.wasCertainlyNotCarriedOut == false)
        }
    }

    @Test func `What is sent is a form of known length, once`() async throws {
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

    /// One that others have used may be closed at the very moment, and then nobody knows whether the token is spent.
    @Test func `Each has a connection of its own, which nothing else uses`() async throws {
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

    // MARK: Before it was sent

    /// A server that takes connections and says nothing, so that the TLS handshake does not get on.
    private func withSilentServer(
        connections: AsyncStream<Void>.Continuation? = nil,
        _ body: (_ address: String, LoopbackServer) async throws -> Void
    ) async throws {
        try await LoopbackServer.run(connections: connections) { server in
            try await body("https://127.0.0.1:\(server.port)", server)
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `A caller who is cancelled while it connects leaves, and nothing was sent`() async throws {
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

    @Test func `A connection that does not come in time is given up, and nothing was sent`() async throws {
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

    @Test func `A task that was cancelled before sends nothing`() async throws {
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
    func `A discovery that fails says nothing about the refresh token, which was not sent`(
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

    // MARK: The point of no return

    @Test func `A body that was given up is not sent, and one that is being sent is not given up`() async throws {
        let given = ExchangeBody(WipedBytes("form".utf8))
        #expect(given.giveUp())
        #expect(given.giveUp())
        var iterator = given.makeAsyncIterator()
        await #expect(throws: CancellationError.self) { try await iterator.next() }
        #expect(!given.isSent)

        let sent = ExchangeBody(WipedBytes("form".utf8))
        iterator = sent.makeAsyncIterator()
        #expect(try await iterator.next() == ByteBuffer(string: "form"))
        #expect(sent.isSent)
        #expect(!sent.giveUp())
        #expect(try await iterator.next() == nil)
        // Whoever asks once more for the same body does not send it once more.
        var again = sent.makeAsyncIterator()
        await #expect(throws: CancellationError.self) { try await again.next() }
    }
}
