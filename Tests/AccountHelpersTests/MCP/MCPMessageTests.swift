import AccountSupport
import Testing

@testable import AccountHelpers

struct MCPMessageTests {
    private func message(_ text: String) throws -> MCPMessage { try MCPMessage(Array(text.utf8)) }

    @Test func `Tells requests, notifications and responses apart`() throws {
        #expect(try message(#"{"id":1,"method":"ping"}"#).method == "ping")
        #expect(try message(#"{"id":1,"method":"ping"}"#).requestID == MCPRequestID(JSONText(integer: 1)))
        #expect(try message(#"{"method":"notifications/x"}"#).kind == .notification(method: "notifications/x"))
        #expect(
            try message(#"{"id":"a","result":{}}"#).kind == .response(id: MCPRequestID(JSONText(string: "a"))))
        #expect(try message(#"{"id":null,"error":{}}"#).kind == .response(id: nil))
    }

    @Test func `Tells a text from a number in an id, whatever its escapes`() {
        #expect(MCPRequestID(JSONText(string: "1")) != MCPRequestID(JSONText(integer: 1)))
        let escaped = JSONText(Array(#""\u0061""#.utf8)).flatMap { MCPRequestID($0) }
        #expect(escaped == MCPRequestID(JSONText(string: "a")))
    }

    @Test(arguments: [
        ("1", #""1""#, true), (#""1""#, "1", true), ("0", #""0""#, true), ("1.0", "1", true), ("1e2", "100", true),
        (#""a""#, #""a""#, true), ("9007199254740993", "9007199254740992", true),
        ("12345678901234567890", "12345678901234567000", true), ("1", "2", false), (#""a""#, #""b""#, false),
        ("1", #""a""#, false), (#""inf""#, #""infinity""#, false), (#""""#, "0", false),
        (#""9f2c-1""#, #""9f2c-2""#, false),
    ])
    func `Matches an id that a server returns in another JSON type`(sent: String, returned: String, isSame: Bool) throws
    {
        let request = try message(#"{"id":\#(sent),"method":"ping"}"#)
        let response = try message(#"{"result":{},"id":\#(returned)}"#)
        #expect(response.answers(request) == isSame)
        guard isSame else { return }
        #expect(
            String(decoding: response.answering(request).text.bytes, as: UTF8.self) == #"{"result":{},"id":\#(sent)}"#)
    }

    @Test(arguments: [
        ("", 0), (" ", 0), ("ping", 0), ("[DONE]", 0), (#"{"type":"heartbeat"}"#, 0), ("{}", 0), ("null", 0), ("[]", 0),
        (#"{"id":1,"result":1}"#, 1), (#"[{"id":1,"result":1},{"method":"n"},7,{}]"#, 2), ("1700000000", 0),
    ])
    func `Finds the messages of a text, and skips other values`(text: String, count: Int) {
        #expect(MCPMessage.Batch(Array(text.utf8)).reduce(0) { count, _ in count + 1 } == count)
    }

    @Test(arguments: [
        (#"{"id":1"#, MCPMessage.Flaw.notJSON), ("[]", .notMessage), ("{}", .notMessage), ("7", .notMessage),
        (#"{"id":null,"method":"x"}"#, .notMessage), (#"{"id":{},"method":"x"}"#, .notMessage),
        (#"{"id":1,"method":2}"#, .notMessage),
    ])
    func `Rejects other text`(text: String, flaw: MCPMessage.Flaw) {
        #expect(throws: flaw) { try message(text) }
    }

    @Test func `Splits input into lines, and skips lines that are too long`() {
        var lines = MCPLines(limit: 4)
        #expect(lines.lines(in: Array("ab".utf8)) == [])
        #expect(lines.lines(in: Array("cd\n\n \r\nabc".utf8)) == [.message(Array("abcd".utf8))])
        #expect(lines.lines(in: Array("de".utf8)) == [])
        #expect(lines.lines(in: Array("f\nx\ny".utf8)) == [.tooLong(nil), .message(Array("x".utf8))])
        #expect(lines.last() == .message(Array("y".utf8)))
        #expect(lines.last() == nil)
    }
}

struct MCPSkippedMessageTests {
    private static let long = String(repeating: "x", count: 2000)

    private static let rows: [(text: String, id: String?)] = [
        (#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"id":8,"method":2,"a":"\#(long)"}}"#, "7"),
        (#"{"method":"m","params":["\"},{\#(long)",{"id":8}],"id":"a,}\""} "#, #""a,}\"""#),
        (#"{"id":1,"id":2,"method":"m","params":"\#(long)"}"#, "2"),
        // A notification, a response, other values of the id, and texts that are not JSON.
        (#"{"method":"m","params":"\#(long)"}"#, nil), (#"{"id":1,"result":"\#(long)"}"#, nil),
        (#"{"id":null,"method":"m","params":"\#(long)"}"#, nil), (#"{"id":"\#(long)","method":"m"}"#, nil),
        (#"[{"id":1,"method":"m"},"\#(long)"]"#, nil), (#"{"id":1,"method":"m","params":"\#(long)"#, nil),
        ("}}]" + long, nil), (long, nil),
    ]

    @Test(arguments: rows, [1, 7, 5000])
    func `Finds the id of a request that is too long`(row: (text: String, id: String?), length: Int) {
        var lines = MCPLines(limit: 100)
        var found: [MCPLines.Line] = []
        let bytes = Array(("x\n" + row.text + "\ny\n").utf8)
        for start in stride(from: 0, to: bytes.count, by: length) {
            found += lines.lines(in: Array(bytes[start..<min(start + length, bytes.count)]))
        }
        let id = row.id.flatMap { JSONText(Array($0.utf8)) }.flatMap { MCPRequestID($0) }
        #expect(found == [.message(Array("x".utf8)), .tooLong(id), .message(Array("y".utf8))])
    }
}

struct MCPFieldValueTests {
    /// The examples of the specification, section "Value Encoding".
    @Test(arguments: [
        ("us-west1", "us-west1"), ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="), ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="), ("", ""), ("a b", "a b"),
    ])
    func `Encodes values that are not safe in a header field`(text: String, value: String) {
        #expect(MCPFieldValue.encoded(text) == value)
    }

    @Test(arguments: [
        ("42", "42"), ("-7", "-7"), ("42.0", "42"), ("true", "true"), ("false", "false"), (#""x""#, "x"),
        ("9007199254740991", "9007199254740991"), ("9007199254740992", nil), ("1.5", nil), ("null", nil), ("[]", nil),
    ])
    func `Converts primitive values only`(json: String, text: String?) throws {
        #expect(MCPFieldValue.text(of: try #require(JSONText(Array(json.utf8)))) == text)
    }
}

struct MCPMirroredParametersTests {
    private func json(_ text: String) throws -> JSONText { try #require(JSONText(Array(text.utf8))) }

    private func tool(_ schema: String) throws -> JSONText { try json(#"{"name":"t","inputSchema":\#(schema)}"#) }

    @Test func `Finds annotations at any depth of properties`() throws {
        let schema = """
            {"properties":{"a":{"type":"string","x-mcp-header":"Region"},"x-mcp-header":{"type":"string"},
            "o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N","default":{"x-mcp-header":1}}}}}}
            """
        let found: [MCPMirroredParameters.Parameter] = [
            .init(name: "Region", path: ["a"]), .init(name: "N", path: ["o", "n"]),
        ]
        for schema in [schema, schema.replacing("x-mcp", with: #"\u0078-mcp"#)] {
            #expect(try MCPMirroredParameters.parameters(of: try tool(schema), named: "t") == found)
        }
    }

    @Test(arguments: [
        #"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#,
        #"{"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}}"#,
        #"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#,
        #"{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}"#,
        #"{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}"#,
        #"{"properties":{"a":{"type":"string","x-mcp-header":1}}}"#,
        #"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
        #"{"type":"string","x-mcp-header":"A"}"#,
        #"{"items":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}"#,
        #"{"properties":{"a":{"anyOf":[{"type":"string","x-mcp-header":"A"}]}}}"#,
        #"{"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}"#,
    ])
    func `Rejects a tool that breaks a rule`(schema: String) throws {
        let definition = try tool(schema)
        #expect(throws: MCPMirroredParameters.Rejection.self) {
            try MCPMirroredParameters.parameters(of: definition, named: "t")
        }
    }

    @Test(arguments: [(31, true), (32, false)])
    func `Searches schemas up to a limit`(levels: Int, isFound: Bool) throws {
        let leaf = #"{"type":"string","x-mcp-header":"A"}"#
        let start = String(repeating: #"{"properties":{"a":"#, count: levels)
        let schema = start + leaf + String(repeating: "}}", count: levels)
        let parameters = try MCPMirroredParameters.parameters(of: try tool(schema), named: "t")
        #expect(parameters.isEmpty != isFound)
    }

    @Test func `Leaves rejected tools out of the list, and nothing else`() throws {
        var parameters = MCPMirroredParameters()
        let good = #"{"name":"good","inputSchema":{"properties":{"r":{"type":"string","x-mcp-header":"R"}}}}"#
        let bad = #"{"name":"bad","inputSchema":{"properties":{"r":{"type":"number","x-mcp-header":"R"}}}}"#
        let (changed, rejections) = parameters.learn(
            from: try json(#"{"nextCursor":"c", "tools":[\#(bad), \#(good)]}"#))
        #expect(rejections.map(\.tool) == ["bad"])
        let text = String(decoding: try #require(changed).bytes, as: UTF8.self)
        #expect(text == #"{"nextCursor":"c", "tools":[\#(good)]}"#)
        #expect(
            parameters.fields(of: try json(#"{"name":"good","arguments":{"r":"ü"}}"#)) == [
                "Mcp-Param-R": "=?base64?w7w=?="
            ])
        #expect(parameters.fields(of: try json(#"{"name":"good","arguments":{"r":null}}"#)) == [:])
        #expect(parameters.fields(of: try json(#"{"name":"good","arguments":{}}"#)) == [:])
        #expect(parameters.fields(of: try json(#"{"name":"bad","arguments":{"r":1}}"#)) == [:])
    }
}
