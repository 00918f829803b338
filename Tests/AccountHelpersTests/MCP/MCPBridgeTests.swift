import AccountCommands
import AccountKit
import AccountSupport
import Synchronization
import Testing

@testable import AccountHelpers

/// The bridge against a scripted server.
struct MCPBridgeTests {
    static let url = "https://api.example.com/mcp"
    static let meta = #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#
    static let initialize =
        #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#
    static let initialized =
        #"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#

    static let ready = #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
    private static let quick = MCPBridge.Limits(minimumPause: .zero)

    func run(
        limits: MCPBridge.Limits = Self.quick,
        _ server: @escaping @Sendable (ForwardedRequest) async throws -> ForwardedResponse,
        _ test: (MCPBridge, Wire) async throws -> Void
    ) async throws {
        let wire = Wire()
        let bridge = MCPBridge(
            url: Self.url, limits: limits,
            send: { request in
                wire.note(request)
                return try await server(request)
            },
            write: { wire.write($0) }, say: { wire.say($0) })
        try await test(bridge, wire)
    }

    func send(_ text: String, to bridge: MCPBridge) async {
        await bridge.receive(.message(Array(text.utf8)))
    }

    func begin(_ bridge: MCPBridge, _ wire: Wire) async throws {
        await send(Self.initialize, to: bridge)
        #expect(await wire.next() == Self.initialized)
    }

    // MARK: Header fields

    @Test func `Describes a request of 2026-07-28 in header fields`() async throws {
        try await run { _ in
            .json(#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        } _: { bridge, wire in
            await send(
                #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"größe",\#(Self.meta)}}"#, to: bridge)
            #expect(await wire.next() == #"{"jsonrpc":"2.0","id":1,"result":{}}"#)
            let fields = try #require(wire.requests.first).fields
            #expect(
                fields == [
                    "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                    "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
                    "Mcp-Name": "=?base64?Z3LDtsOfZQ==?=",
                ])
        }
    }

    @Test func `Names the session and its version to an earlier server`() async throws {
        try await run(Self.earlier) { bridge, wire in
            try await begin(bridge, wire)
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            _ = await wire.next()
            #expect(wire.requests.map { $0.fields["Mcp-Session-Id"] } == [nil, "s1"])
            #expect(wire.requests.map { $0.fields["MCP-Protocol-Version"] } == [nil, "2025-06-18"])
        }
    }

    @Test func `Mirrors a parameter after the server has asked for it`() async throws {
        let tool = #"{"name":"t","inputSchema":{"properties":{"r":{"type":"string","x-mcp-header":"R"}}}}"#
        try await run { request in
            if request.fields["Mcp-Method"] == "tools/list" {
                return .json(#"{"jsonrpc":"2.0","id":"account-tools-1","result":{"tools":[\#(tool)]}}"#)
            }
            guard request.fields["Mcp-Param-R"] == "eu" else {
                return .json(#"{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"x"}}"#, status: 400)
            }
            return .json(#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        } _: { bridge, wire in
            let params = #"{"name":"t","arguments":{"r":"eu"},\#(Self.meta)}"#
            await send(#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":\#(params)}"#, to: bridge)
            #expect(await wire.next() == #"{"jsonrpc":"2.0","id":1,"result":{}}"#)
            #expect(wire.requests.map { $0.fields["Mcp-Method"] } == ["tools/call", "tools/list", "tools/call"])
        }
    }

    // MARK: Responses

    @Test func `Forwards the messages of a stream, and resumes it where it broke`() async throws {
        try await run { request in
            switch (request.method, request.fields["Last-Event-ID"]) {
            case ("GET", "7"?):
                return .events("data: {\"jsonrpc\":\"2.0\",\n", "data: \"id\":1,\"result\":{}}\n\n")
            case ("POST", _) where request.contains("ping"):
                return .events("retry: 0\nid: 7\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n")
            default: return try await Self.earlier(request)
            }
        } _: { bridge, wire in
            try await begin(bridge, wire)
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            #expect(await wire.next() == #"{"jsonrpc":"2.0","method":"n"}"#)
            #expect(await wire.next() == #"{"jsonrpc":"2.0", "id":1,"result":{}}"#)
        }
    }

    @Test func `Continues to resume a stream after failed attempts`() async throws {
        let ids = Mutex<[String?]>([])
        try await run { request in
            if request.method == "POST", request.contains("ping") { return .events("retry: 0\nid: 0\n\n") }
            guard request.method == "GET" else { return try await Self.earlier(request) }
            let count = ids.withLock {
                $0.append(request.fields["Last-Event-ID"])
                return $0.count
            }
            switch count {
            case 1: throw AccountError(.serviceUnavailable, "no connection")
            case 2: return .json("", status: 502)
            case 3...9: return .events("id: \(count)\n\n")
            default: return .events("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
            }
        } _: { bridge, wire in
            try await begin(bridge, wire)
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            #expect(await wire.next() == #"{"jsonrpc":"2.0","id":1,"result":{}}"#)
            #expect(ids.withLock { $0 } == ["0", "0", "0", "3", "4", "5", "6", "7", "8", "9"])
        }
    }

    @Test(arguments: [(nil, 1000), (0, 1000), (5000, 5000), (Int.max, 60_000)] as [(Int?, Int)])
    func `Limits the pause that the server requests`(requested: Int?, pause: Int) {
        #expect(MCPBridge.Limits().pause(requested: requested) == Duration.milliseconds(pause))
    }

    @Test func `Forwards requests while the server does not accept a notification`() async throws {
        try await run(limits: MCPBridge.Limits(opening: .zero)) { request in
            if request.contains(Self.ready) { return try await Self.noResponse() }
            return try await Self.earlier(request)
        } _: { bridge, wire in
            try await begin(bridge, wire)
            await send(Self.ready, to: bridge)
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            #expect(await wire.next() == #"{"jsonrpc":"2.0","id":1,"result":{}}"#)
            await bridge.finish(grace: .zero)
        }
    }

    @Test func `Answers requests if the server does not begin a new session`() async throws {
        let beginnings = Mutex(0)
        try await run(limits: MCPBridge.Limits(renewal: .zero)) { request in
            if request.fields["Mcp-Session-Id"] != nil { return .json("{}", status: 404) }
            let count = beginnings.withLock {
                $0 += 1
                return $0
            }
            return count == 1 ? try await Self.earlier(request) : try await Self.noResponse()
        } _: { bridge, wire in
            try await begin(bridge, wire)
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            let line = await wire.next()
            #expect(line.hasPrefix(#"{"jsonrpc":"2.0","id":1,"error":{"#), "\(line)")
            #expect(line.contains("did not begin a new one in time"), "\(line)")
        }
    }

    @Test func `Begins a new session if the server has forgotten the old one`() async throws {
        let count = Mutex(0)
        try await run { request in
            if request.contains("\"initialize\"") {
                let number = count.withLock {
                    $0 += 1; return $0
                }
                return .json(Self.initialized, fields: ["Mcp-Session-Id": "s\(number)"])
            }
            if request.fields["Mcp-Session-Id"] == "s1" { return .json("{}", status: 404) }
            return try await Self.earlier(request)
        } _: { bridge, wire in
            try await begin(bridge, wire)
            for id in 1...3 { await send(#"{"jsonrpc":"2.0","id":\#(id),"method":"ping"}"#, to: bridge) }
            var lines: Set<String> = []
            for _ in 1...3 { lines.insert(await wire.next()) }
            #expect(lines == Set((1...3).map { #"{"jsonrpc":"2.0","id":\#($0),"result":{}}"# }))
            #expect(count.withLock { $0 } == 2)
        }
    }

    /// What servers say about a session that they no longer know, from public bug reports.
    private static let lostSessions: [(status: Int, body: String)] = [
        (404, ""), (404, "{}"), (410, ""), (400, ""), (400, "Invalid session ID\n"),
        (
            400,
            #"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#
        ),
        (
            400,
            #"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Unknown Mcp-Session-Id header"},"id":null}"#
        ),
        (400, #"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}"#),
        (400, #"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}"#),
        (400, #"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"session expired"}}"#),
        (400, #"{"error":"No transport found for sessionId"}"#),
        (400, #"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"unknown session"}}"#),
        // These do not say what is wrong.
        (400, "Bad Request"), (400, "{}"), (400, "<html><title>400</title></html>"), (400, #"{"error":"bad_request"}"#),
        (400, #"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request"},"id":null}"#),
        (401, #"{"error":"Session has expired"}"#), (403, "session belongs to another token"),
    ]

    @Test(arguments: lostSessions)
    func `Begins a new session whatever the status, and repeats the request once`(
        lost: (status: Int, body: String)
    ) async throws {
        let count = Mutex(0)
        try await run { request in
            if request.contains("\"initialize\"") {
                let number = count.withLock {
                    $0 += 1
                    return $0
                }
                return .json(Self.initialized, fields: ["Mcp-Session-Id": "s\(number)"])
            }
            if request.fields["Mcp-Session-Id"] == "s1" { return .json(lost.body, status: lost.status) }
            return try await Self.earlier(request)
        } _: { bridge, wire in
            try await begin(bridge, wire)
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            #expect(await wire.next() == #"{"jsonrpc":"2.0","id":1,"result":{}}"#)
            #expect(count.withLock { $0 } == 2)
            #expect(
                wire.requests.filter { $0.contains("\"ping\"") }.map { $0.fields["Mcp-Session-Id"] } == ["s1", "s2"])
        }
    }

    @Test func `Begins no second session if the new one is refused too`() async throws {
        try await run { request in
            if request.contains("\"ping\"") { return .json("no such session", status: 400) }
            return try await Self.earlier(request)
        } _: { bridge, wire in
            try await begin(bridge, wire)
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            let line = await wire.next()
            #expect(line.contains("responded with status 400"), "\(line)")
            #expect(wire.requests.count { $0.contains("\"initialize\"") } == 2)
        }
    }

    @Test func `Begins one session for refusals that do not name it`() async throws {
        try await run { request in
            request.contains("\"ping\"") ? .json("Bad Request", status: 400) : try await Self.earlier(request)
        } _: { bridge, wire in
            try await begin(bridge, wire)
            for id in 1...3 {
                await send(#"{"jsonrpc":"2.0","id":\#(id),"method":"ping"}"#, to: bridge)
                #expect(await wire.next().contains("responded with status 400"))
            }
            #expect(wire.requests.count { $0.contains("\"initialize\"") } == 2)
            #expect(wire.requests.count { $0.contains("\"ping\"") } == 4)
        }
    }

    @Test func `Begins no session because of the notification that ends its beginning`() async throws {
        try await run { request in
            request.contains("notifications/") ? .json("", status: 400) : try await Self.earlier(request)
        } _: { bridge, wire in
            try await begin(bridge, wire)
            await send(Self.ready, to: bridge)
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            #expect(await wire.next() == Self.answer)
            #expect(wire.requests.count { $0.contains("\"initialize\"") } == 1)
        }
    }

    @Test func `Uses the session id of the last response`() async throws {
        try await run { request in
            guard request.contains("\"ping\"") else { return try await Self.earlier(request) }
            let id = request.fields["Mcp-Session-Id"] ?? ""
            return .json(Self.answer, fields: id == "s2" ? [:] : ["Mcp-Session-Id": id == "s1" ? "s2" : "lost"])
        } _: { bridge, wire in
            try await begin(bridge, wire)
            for _ in 1...3 {
                await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
                _ = await wire.next()
            }
            #expect(wire.requests.dropFirst().map { $0.fields["Mcp-Session-Id"] } == ["s1", "s2", "s2"])
        }
    }

    @Test func `Accepts a byte order mark before a message of the client`() async throws {
        try await run(Self.earlier) { bridge, wire in
            await send("\u{FEFF}" + Self.initialize, to: bridge)
            #expect(await wire.next() == Self.initialized)
        }
    }

    @Test(arguments: [
        (400, #"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"sessionId is missing"}}"#),
        (400, #"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"bad cursor"}}"#), (500, "session lost"),
        (429, "too many sessions"), (403, "no"), (409, "busy"),
    ])
    func `Keeps the session after other errors`(status: Int, body: String) async throws {
        try await run { request in
            request.contains("\"ping\"") ? .json(body, status: status) : try await Self.earlier(request)
        } _: { bridge, wire in
            try await begin(bridge, wire)
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            #expect(await wire.next().hasPrefix(#"{"jsonrpc":"2.0","id":1,"error":{"#))
            #expect(wire.requests.count { $0.contains("\"initialize\"") } == 1)
        }
    }

    @Test func `Messages that are piped at once wait for the session`() async throws {
        let (gates, gate) = AsyncStream.makeStream(of: Void.self)
        try await run { request in
            if request.contains("\"initialize\"") { for await _ in gates {} }
            return try await Self.earlier(request)
        } _: { bridge, wire in
            await send(Self.initialize, to: bridge)
            await send(Self.ready, to: bridge)
            for id in 1...3 { await send(#"{"jsonrpc":"2.0","id":\#(id),"method":"ping"}"#, to: bridge) }
            #expect(wire.isEmpty)
            gate.finish()
            #expect(await wire.next() == Self.initialized)
            var lines: Set<String> = []
            for _ in 1...3 { lines.insert(await wire.next()) }
            #expect(lines == Set((1...3).map { #"{"jsonrpc":"2.0","id":\#($0),"result":{}}"# }))
            let later = wire.requests.filter { $0.method == "POST" && !$0.contains("\"initialize\"") }
            #expect(later.allSatisfy { $0.fields["Mcp-Session-Id"] == "s1" } && later.count == 4)
            #expect(later.first?.contains("notifications/initialized") == true)
        }
    }

    @Test func `Messages after a refused initialize are sent`() async throws {
        try await run { request in
            request.contains("\"initialize\"") ? .json("", status: 500) : try await Self.earlier(request)
        } _: { bridge, wire in
            await send(Self.initialize, to: bridge)
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            #expect(await wire.next().hasPrefix(#"{"jsonrpc":"2.0","id":0,"error":"#))
            #expect(await wire.next() == #"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        }
    }

    static let answer = #"{"jsonrpc":"2.0","id":1,"result":{}}"#

    static let answers: [(type: String, body: String)] = [
        ("application/json", answer), ("application/json; charset=utf-8", answer),
        ("APPLICATION/JSON;charset=UTF-8", answer),
        ("", answer), ("text/plain", answer), ("application/json-rpc", answer), ("text/html", answer),
        ("text/event-stream", answer), ("text/event-stream", " \r\n" + answer + "\n"),
        ("text/event-stream;charset=utf-8", "data: \(answer)\r\n\r\n"),
        ("text/plain", "event: message\ndata: \(answer)\n\n"),
        ("application/json", "data: \(answer)"), ("application/json", "[\(answer)]"),
        ("text/event-stream", "data: [\(answer)]\n\n"),
        ("text/event-stream", ": ping\n\ndata:\n\ndata: \n\nid: 1\n\nretry: 5\n\ndata: \(answer)\n\n"),
        ("text/event-stream", "event: ping\ndata: 2026-01-01\n\nevent: heartbeat\ndata: {}\n\ndata: \(answer)\n\n"),
        (
            "text/event-stream",
            "data: {\"type\":\"heartbeat\"}\n\ndata: ping\n\ndata: [DONE]\n\ndata: 1\n\ndata: \(answer)\n\n"
        ),
        ("application/json", answer.replacing("\"id\":1", with: "\"id\":\"1\"")),
        ("application/json", answer.replacing("\"id\":1", with: "\"id\":null")),
        ("application/json", answer.replacing("\"id\":1,", with: "")),
        ("text/event-stream", "data: " + answer.replacing("\"id\":1", with: "\"id\":1e0") + "\n\n"),
        ("application/json", "\u{FEFF}" + answer), ("text/event-stream", "\u{FEFF}" + answer),
        ("text/event-stream", "\u{FEFF}data: \(answer)\n\n"), ("text/event-stream", "data: \(answer)\n"),
        ("text/event-stream", "id: 1\nevent: message\ndata: \(answer)"),
        ("text/event-stream", "data: " + answer.replacing("\"id\":1", with: "\"id\":1.0") + "\n\n"),
    ]

    @Test(arguments: answers, [200, 202])
    func `Reads the response from the body, whatever its label and what precedes it`(
        answer: (type: String, body: String), status: Int
    ) async throws {
        try await run { request in
            .json(answer.body, status: status, type: answer.type)
        } _: { bridge, wire in
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            #expect(await wire.next() == Self.answer)
            await bridge.finish(grace: .zero)
            #expect(wire.isEmpty)
        }
    }

    @Test(arguments: [
        (200, "", ""), (200, "text/plain", "accepted"), (201, "application/json", "{}"),
        (202, "application/json", "null"),
        (204, "", ""), (202, "text/event-stream", ""),
    ])
    func `Accepts any success for a notification`(status: Int, type: String, body: String) async throws {
        try await run { request in
            request.contains("notifications/")
                ? .json(body, status: status, type: type) : try await Self.earlier(request)
        } _: { bridge, wire in
            try await begin(bridge, wire)
            await send(Self.ready, to: bridge)
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            #expect(await wire.next() == Self.answer)
            #expect(wire.said.isEmpty)
        }
    }

    @Test func `Reads the messages of an array from the client`() async throws {
        try await run(Self.earlier) { bridge, wire in
            try await begin(bridge, wire)
            await send(
                #"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},7]"#,
                to: bridge)
            let lines = Set([await wire.next(), await wire.next()])
            #expect(lines.contains(Self.answer), "\(lines)")
            #expect(lines.contains { $0.contains(#""id":null,"error":{"code":-32600"#) }, "\(lines)")
        }
    }

    @Test func `Returns a web page as the response of another server`() async throws {
        try await run { _ in
            .json("<!DOCTYPE html><title>Wi-Fi</title>", type: "text/html")
        } _: { bridge, wire in
            await send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, to: bridge)
            let line = await wire.next()
            #expect(line.contains(#""code":69,"#) && line.contains("perhaps a captive portal"), "\(line)")
        }
    }
}
