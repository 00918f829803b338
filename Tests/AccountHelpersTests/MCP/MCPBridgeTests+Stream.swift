import AccountCommands
import AccountKit
import AccountSupport
import Synchronization
import Testing

@testable import AccountHelpers

/// The stream of the server, and errors.
extension MCPBridgeTests {
    @Test(
        arguments: [
            (0, 30, nil, 1), (1, 300, nil, 1), (2, 300, nil, 2), (3, 300, nil, 4), (5, 300, nil, 16),
            (9, 300, nil, 256),
            (10, 300, nil, 300), (1000, 300, nil, 300), (1000, 30, nil, 30), (2, 300, 5000, 5), (4, 300, 5000, 8),
            (1, 300, 0, 1),
        ] as [(Int, Double, Int?, Int)])
    func `Doubles the pause after a stream that ends at once`(
        count: Int, longest: Double, requested: Int?, seconds: Int
    ) {
        #expect(
            MCPBridge.Limits().pause(after: count, longest: longest, requested: requested) == .seconds(Double(seconds)))
    }

    @Test func `Opens the stream of the server again after it has ended at once`() async throws {
        let count = Mutex(0)
        try await run { request in
            guard request.method == "GET" else { return try await Self.earlier(request) }
            let number = count.withLock {
                $0 += 1
                return $0
            }
            guard number > 3 else { return .events("retry: 0\n: welcome\n\n") }
            return .stream { $0.yield(Array("data: hello\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n".utf8)) }
        } _: { bridge, wire in
            try await begin(bridge, wire)
            await send(Self.ready, to: bridge)
            #expect(await wire.next() == #"{"jsonrpc":"2.0","method":"n"}"#)
            #expect(count.withLock { $0 } == 4)
            await bridge.finish(grace: .zero)
        }
    }

    @Test func `A response on the stream of the server answers its request`() async throws {
        let (gates, gate) = AsyncStream.makeStream(of: Void.self)
        try await run { request in
            if request.contains("\"ping\"") {
                gate.finish()
                return .stream { _ in }
            }
            guard request.method == "GET" else { return try await Self.earlier(request) }
            for await _ in gates {}
            return .stream { $0.yield(Array("data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}\n\n".utf8)) }
        } _: { bridge, wire in
            try await begin(bridge, wire)
            await send(Self.ready, to: bridge)
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            #expect(await wire.next() == Self.answer)
            await bridge.finish(grace: .zero)
        }
    }

    @Test(arguments: [
        (400, #"{"jsonrpc":"2.0","error":{"code":-32602,"message":"m"}}"#, #""code":-32602,"message":"m"}"#),
        (404, #"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32601,"message":"m"}}"#, #""code":-32601"#),
        (503, "busy", #""code":69,"message":"\#(CommandLine.toolName): \#(url) responded with status 503: busy""#),
        (500, #"{"error":{"message":"the database is down"}}"#, "responded with status 500: the database is down"),
        (
            422, #"{"error":"invalid_request","error_description":"no\u001b[2J id"}"#,
            "responded with status 422: no[2J id"
        ),
        (502, #"{"title":"Bad gateway","detail":"the upstream timed out"}"#, "status 502: the upstream timed out"),
        (400, #"{"message":"unknown field"}"#, "responded with status 400: unknown field"),
        (403, #"{"message":"your plan does not include this"}"#, "(403): your plan does not include this"),
        (500, "<html><h1>Error</h1></html>", "responded with status 500\""),
        (200, "busy", "sent text that is not a JSON-RPC message"), (302, "", "tokens do not follow redirects"),
        (202, "", "responded with no message instead of a message"), (401, "", "rejected the token"),
    ])
    func `Answers a request with an error if the server does not respond`(
        status: Int, body: String, text: String
    ) async throws {
        try await run { _ in
            .json(body, status: status, type: status == 202 ? "" : "application/json")
        } _: {
            bridge, wire in
            await send(#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#, to: bridge)
            let line = await wire.next()
            #expect(line.contains(text), "\(line)")
            #expect(line.hasPrefix(#"{"jsonrpc":"2.0","id":"a","error":{"#), "\(line)")
        }
    }

    @Test func `Names the command to run if there is no token`() async throws {
        try await run { _ in
            throw AccountError(.notSignedIn, "not signed in", hint: "run `account login`")
        } _: {
            bridge, wire in
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            let line = await wire.next()
            #expect(
                line.contains(#""code":77,"message":""#) && line.contains("not signed in: run `account login`"),
                "\(line)")
        }
    }

    @Test(arguments: [("x", -32700), ("[]", -32600), ("{}", -32600)])
    func `Refuses text that is not a message`(text: String, code: Int) async throws {
        try await run { _ in
            .json("{}")
        } _: { bridge, wire in
            await send(text, to: bridge)
            #expect(await wire.next().hasPrefix(#"{"jsonrpc":"2.0","id":null,"error":{"code":\#(code),"#))
            #expect(wire.requests.isEmpty)
        }
    }
}
