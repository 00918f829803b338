import AccountCommands
import AccountKit
import AccountSupport
import Synchronization
import Testing

@testable import AccountHelpers

/// Long messages, tokens in responses, cancellation and the end.
extension MCPBridgeTests {
    private static let short = MCPBridge.Limits(messageByteCount: 1 << 20, minimumPause: .zero)
    private static let long = #"{"jsonrpc":"2.0","id":1,"result":"\#(String(repeating: "x", count: 1 << 20))"}"#

    @Test(
        arguments: [
            ("application/json", nil, long), ("text/event-stream", nil, "data: \(long)\n\n"),
            // The server sends nothing after the head.
            ("application/json", "1048577", nil),
        ] as [(String, String?, String?)])
    func `Answers a request with an error if the response is too long`(
        type: String, length: String?, body: String?
    ) async throws {
        try await run(limits: Self.short) { request in
            if request.contains("ping") { return .json(#"{"jsonrpc":"2.0","id":2,"result":{}}"#) }
            return .stream(type: type, fields: length.map { ["Content-Length": $0] } ?? [:]) { continuation in
                if let body { continuation.yield(Array(body.utf8)) }
            }
        } _: { bridge, wire in
            await send(#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, to: bridge)
            let line = await wire.next()
            #expect(line.hasPrefix(#"{"jsonrpc":"2.0","id":1,"error":{"code":65,"#), "\(line)")
            #expect(line.contains("\(Self.url) sent a message that is longer than 1 MiB"), "\(line)")
            await send(#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#, to: bridge)
            #expect(await wire.next() == #"{"jsonrpc":"2.0","id":2,"result":{}}"#)
            await bridge.finish(grace: .zero)
        }
    }

    @Test func `Continues a stream of the server after a message that is too long`() async throws {
        try await run(limits: Self.short) { request in
            guard request.method == "GET" else { return try await Self.earlier(request) }
            return .stream { continuation in
                for data in [Self.long, #"{"jsonrpc":"2.0","method":"n"}"#] {
                    continuation.yield(Array("data: \(data)\n\n".utf8))
                }
            }
        } _: { bridge, wire in
            try await begin(bridge, wire)
            await send(Self.ready, to: bridge)
            #expect(await wire.next() == #"{"jsonrpc":"2.0","method":"n"}"#)
            #expect(wire.said == ["\(Self.url) sent a message that is longer than 1 MiB"])
            await bridge.finish(grace: .zero)
        }
    }

    @Test func `Answers a request that is too long with an error`() async throws {
        try await run { _ in
            .json("{}")
        } _: { bridge, wire in
            await bridge.receive(.tooLong(MCPRequestID(JSONText(integer: 7))))
            let line = await wire.next()
            #expect(line.hasPrefix(#"{"jsonrpc":"2.0","id":7,"error":{"code":65,"#), "\(line)")
            #expect(line.contains("the message is longer than 16 MiB"), "\(line)")
            await bridge.receive(.tooLong(nil))
            #expect(await wire.next().hasPrefix(#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"#))
            #expect(wire.requests.isEmpty)
        }
    }

    // MARK: Tokens

    static let token = "canary/0123456789+abcdef"
    private static let escapedToken = token.replacing("/", with: #"\/"#)

    private static let repetitions: [(response: ForwardedResponse, text: String)] = [
        (
            .json("", status: 302, fields: ["Location": "https://other.example/?t=\(token)"]),
            "redirects the request, and"
        ),
        (
            .json(
                "", status: 302, fields: ["Location": "https://other.example/?t=\(token.replacing("+", with: "%2B"))"]),
            "redirects the request, and"
        ),
        (
            .json("", status: 403, fields: ["WWW-Authenticate": "Bearer scope=\"a \(token)\""]),
            "refused the request (403)"
        ),
        (.json("x", type: "text/\(token)"), "responded with no message"),
        (.json(token, status: 500), "responded with status 500"),
        (
            .json(#"{"error":{"code":-1,"message":"\#(token) is bad","data":"\#(token)"}}"#, status: 400),
            #""message":"[token removed] is bad","data":"[token removed]""#
        ),
        (
            .json(
                #"{"jsonrpc":"2.0","id":1,"result":{"a":"\#(token)","b":"\#(escapedToken)"}}"#),
            #"{"a":"[token removed]","b":"[token removed]"}"#
        ),
        (
            .events(#"data: {"jsonrpc":"2.0","id":1,"result":"\#(token.prefix(9))"#, "\(token.dropFirst(9))\"}\n\n"),
            #""result":"[token removed]""#
        ),
    ]

    @Test(arguments: repetitions)
    func `Never passes on a token that the server repeats`(response: ForwardedResponse, text: String) async throws {
        try await run { _ in
            response
        } _: { bridge, wire in
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            let line = await wire.next()
            #expect(line.hasPrefix(#"{"jsonrpc":"2.0","id":1,"#) && line.contains(text), "\(line)")
            await bridge.finish(grace: .seconds(60))
            for shown in [line] + wire.said {
                #expect(!shown.contains("0123456789") && !shown.contains("canary"), "\(shown)")
            }
        }
    }

    // MARK: Cancellation and the end

    @Test func `Closes the stream of a cancelled request of 2026-07-28`() async throws {
        let (closed, close) = AsyncStream.makeStream(of: Void.self)
        try await run { _ in
            .stream { continuation in
                continuation.yield(Array("data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n".utf8))
                continuation.onTermination = { _ in close.finish() }
            }
        } _: { bridge, wire in
            await send(#"{"jsonrpc":"2.0","id":1,"method":"x","params":{\#(Self.meta)}}"#, to: bridge)
            _ = await wire.next()
            await send(#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#, to: bridge)
            for await _ in closed {}
            #expect(wire.requests.count == 1)
            await bridge.finish(grace: .zero)
            #expect(wire.isEmpty)
        }
    }

    @Test func `Forwards the cancellation of a request to an earlier server`() async throws {
        try await run { request in
            if request.contains("\"slow\"") {
                return .stream { $0.yield(Array("data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n".utf8)) }
            }
            return try await Self.earlier(request)
        } _: { bridge, wire in
            try await begin(bridge, wire)
            await send(#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#, to: bridge)
            _ = await wire.next()
            await send(#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#, to: bridge)
            await wire.request { $0.contains("notifications/cancelled") }
            await bridge.finish(grace: .zero)
            #expect(wire.requests.last?.method == "DELETE")
            #expect(wire.requests.last?.fields["Mcp-Session-Id"] == "s1")
        }
    }

    @Test func `Waits for responses after the end of the input`() async throws {
        let (gates, gate) = AsyncStream.makeStream(of: Void.self)
        try await run { _ in
            for await _ in gates {}
            return .json(#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        } _: { bridge, wire in
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            async let end: Void = bridge.finish(grace: .seconds(600))
            gate.finish()
            await end
            #expect(await wire.next() == #"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        }
    }

    @Test func `Refuses further requests while too many wait, and still cancels`() async throws {
        try await run { _ in
            .stream { _ in }
        } _: { bridge, wire in
            for id in 1...MCPBridge.maximumRequestCount {
                await send(#"{"jsonrpc":"2.0","id":\#(id),"method":"x","params":{\#(Self.meta)}}"#, to: bridge)
            }
            await send(#"{"jsonrpc":"2.0","id":"more","method":"x","params":{\#(Self.meta)}}"#, to: bridge)
            #expect(await wire.next().hasPrefix(#"{"jsonrpc":"2.0","id":"more","error":{"code":75,"#))
            await bridge.finish(grace: .zero)
        }
    }

    @Test func `Does not count cancelled requests that still wait`() async throws {
        try await run(limits: MCPBridge.Limits(opening: .seconds(600))) { request in
            if request.contains(Self.ready) { return try await Self.noResponse() }
            return try await Self.earlier(request)
        } _: { bridge, wire in
            try await begin(bridge, wire)
            await send(Self.ready, to: bridge)
            for id in 1...MCPBridge.maximumRequestCount {
                await send(#"{"jsonrpc":"2.0","id":\#(id),"method":"x","params":{\#(Self.meta)}}"#, to: bridge)
            }
            await send(#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#, to: bridge)
            await send(#"{"jsonrpc":"2.0","id":"more","method":"x","params":{\#(Self.meta)}}"#, to: bridge)
            #expect(wire.isEmpty)
            await bridge.finish(grace: .zero)
        }
    }

    /// Returns only when the bridge cancels the request.
    static func noResponse() async throws -> ForwardedResponse {
        let (gates, gate) = AsyncStream.makeStream(of: Void.self)
        for await _ in gates {}
        gate.finish()
        throw CancellationError()
    }

    /// A server of 2025-06-18 with a session.
    @Sendable static func earlier(_ request: ForwardedRequest) async throws -> ForwardedResponse {
        guard request.method == "POST" else { return .json("", status: 405) }
        if request.contains("\"initialize\"") { return .json(initialized, fields: ["Mcp-Session-Id": "s1"]) }
        guard let id = request.body.flatMap({ JSONText($0) })?["id"] else { return .json("", status: 202) }
        return .json(#"{"jsonrpc":"2.0","id":\#(String(decoding: id.bytes, as: UTF8.self)),"result":{}}"#)
    }
}
