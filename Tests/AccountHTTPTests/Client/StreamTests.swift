import AccountKit
import AccountTesting
import FoundationEssentials
import HTTPTypes
import Synchronization
import Testing

@testable import AccountHTTP

/// Bodies that are too large for memory, over real sockets.
@Suite(.timeLimit(.minutes(15)))
struct StreamTests {
    private struct OwnFailure: Error {}

    private final class Received: Sendable {
        private let state = Mutex<(text: String, pieces: Int)>(("", 0))
        var text: String { state.withLock { $0.text } }
        var pieceCount: Int { state.withLock { $0.pieces } }
        func add(_ piece: Data) {
            state.withLock { state in
                state.text += String(decoding: piece, as: UTF8.self)
                state.pieces += 1
            }
        }
    }

    private func client(
        _ server: LoopbackServer, timeout: Duration = .seconds(60), _ authority: ScriptedAuthority = ScriptedAuthority()
    ) async throws -> AuthenticatedClient {
        let old = Account.testing(at: ManualClock().now.addingTimeInterval(-3600), expiringIn: .seconds(7200))
        return try AuthenticatedClient(
            origin: server.address, store: try await .inMemory(signedIn: old), authority: authority, timeout: timeout,
            maximumResponseLength: 1000)
    }

    private func request(_ method: HTTPRequest.Method = .get) -> HTTPRequest {
        HTTPRequest(method: method, scheme: nil, authority: nil, path: "/file")
    }

    /// A body in several chunks.
    private func body(_ pieces: [String], begun: Received? = nil) -> AuthenticatedClient.BodyStream {
        (
            pieces.reduce(0) { $0 + $1.utf8.count },
            {
                begun?.add(Data("begun ".utf8))
                let rest = Mutex(pieces[...])
                return AsyncThrowingStream { rest.withLock { $0.popFirst().map { Data($0.utf8) } } }
            }
        )
    }

    @Test func `Streams a successful response of any length, but not a failed response`() async throws {
        let long = String(repeating: "0123456789", count: 100_000)
        try await LoopbackServer.run { request, _ in
            request.target == "/file" ? .response(200, ["ETag": "\"x\""], long) : .response(404, [:], "nothing")
        } _: { server in
            let received = Received()
            let client = try await client(server)
            let response = try await client.stream(request()) { head, piece in
                #expect(head.headerFields[.eTag] == "\"x\"")
                received.add(piece)
            }
            #expect(response.head.status == 200 && response.body.isEmpty)
            #expect(received.text == long)
            #expect(received.pieceCount > 1)
            #expect(server.requests.first?.headers["authorization"] == "Bearer access-1")
            #expect(server.requests.first?.headers["accept"] == "*/*")

            let none = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/none")
            let missing = try await client.stream(none) { _, _ in Issue.record("the status is not a success") }
            #expect(missing.head.status == 404 && missing.body == Data("nothing".utf8))
        }
    }

    @Test func `Streams a request body in chunks, and again for a new token`() async throws {
        try await LoopbackServer.run { request, _ in
            request.headers["authorization"] == "Bearer access-1"
                ? .response(401, ["WWW-Authenticate": #"Bearer error="invalid_token""#]) : .response(201)
        } _: { server in
            let begun = Received()
            let authority = ScriptedAuthority()
            let client = try await client(server, authority)
            let response = try await client.stream(
                request(.put), body: body(["one ", "two ", "three"], begun: begun)
            ) { _, _ in }
            #expect(response.head.status == 201)
            #expect(server.requests.map(\.body) == ["one two three", "one two three"])
            #expect(server.requests.map { $0.headers["content-length"] } == ["13", "13"])
            #expect(begun.text == "begun begun ")
            #expect(authority.requests == [.refresh])
        }
    }

    @Test func `Rejects a truncated response to a streamed request`() async throws {
        try await LoopbackServer.run { _, _ in
            .sendAndClose("HTTP/1.1 200 x\r\nContent-Length: 100\r\n\r\nbegin")
        } _: { server in
            let received = Received()
            let client = try await client(server)
            let error = await expectAccountError(.serviceUnavailable) {
                try await client.stream(request()) { received.add($1) }
            }
            #expect(error?.description.contains("truncated") == true)
            #expect(received.text == "begin")
        }
    }

    @Test func `Rethrows an error of the caller's code, and ends the streamed request`() async throws {
        try await LoopbackServer.run { request, _ in
            request.method == "PUT" ? .response(200) : .response(200, [:], "text")
        } _: { server in
            let client = try await client(server)
            await #expect(throws: OwnFailure.self) {
                try await client.stream(request()) { _, _ in throw OwnFailure() }
            }
            await #expect(throws: OwnFailure.self) {
                try await client.stream(
                    request(.put), body: (10, { AsyncThrowingStream { throw OwnFailure() } })
                ) { _, _ in }
            }
            await #expect(throws: OwnFailure.self) {
                try await client.stream(request(.put), body: (10, { throw OwnFailure() })) { _, _ in }
            }
            #expect(server.requests.map(\.method) == ["GET"])
        }
    }

    @Test func `Times out a streamed request on an idle connection`() async throws {
        try await LoopbackServer.run { _, _ in
            .send("HTTP/1.1 200 x\r\nContent-Length: 100\r\n\r\nbegin")
        } _: { server in
            let client = try await client(server, timeout: .milliseconds(200))
            let error = await expectAccountError(.serviceUnavailable) {
                try await client.stream(request()) { _, _ in }
            }
            #expect(error?.requestFailure != nil)
        }
    }

    @Test func `Continues an active transfer for longer than the timeout`() async throws {
        try await LoopbackServer.run { _, _ in
            .response(200, [:], "text")
        } _: { server in
            let client = try await client(server, timeout: .seconds(60))
            let transfer = BodyTransfer(nil) { _, _ in }
            let before = ContinuousClock.now
            transfer.begin()
            while transfer.idleTime < .milliseconds(20) { await Task.yield() }
            try await transfer.receive(HTTPResponse(status: 200), Data())
            #expect(transfer.idleTime < before.duration(to: .now))
            #expect(try await client.stream(request()) { _, _ in }.head.status == 200)
        }
    }

    @Test func `Ends a transfer if the task is cancelled`() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        try await LoopbackServer.run { _, _ in
            .send("HTTP/1.1 200 x\r\nContent-Length: 100\r\n\r\nbegin")
        } _: { server in
            let client = try await client(server)
            let request = request()
            let task = Task { try await client.stream(request) { _, _ in hasBegun.yield() } }
            for await _ in begun { break }
            task.cancel()
            await expectAccountError(.cancelled) { try await task.value }
        }
    }

    @Test func `Passes whole bodies to and from a custom transport`() async throws {
        let transport = ScriptedTransport([.json("[1]"), .json("[2]", status: .notFound)])
        let client = try AuthenticatedClient(
            origin: "https://api.example.com", store: try await .inMemory(signedIn: .fresh(at: ManualClock().now)),
            authority: ScriptedAuthority(), transport: transport.send)
        let received = Received()
        let response = try await client.stream(request(.put), body: body(["one ", "two"])) { received.add($1) }
        #expect(response.body.isEmpty && received.text == "[1]")
        #expect(transport.requests.first?.body == Data("one two".utf8))
        #expect(try await client.stream(request()) { received.add($1) }.body == Data("[2]".utf8))
        #expect(received.text == "[1]")
    }
}
