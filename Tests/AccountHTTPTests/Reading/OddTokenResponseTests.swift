import AccountCrypto
import AccountKit
import FoundationEssentials
import HTTPTypes
import Testing

@testable import AccountHTTP

/// Successful token responses that differ from RFC 6749, section 5.1. The service has spent the refresh token or the code, so
/// AccountKit must not lose the tokens in the response.
struct OddTokenResponseTests {
    private static let tokens = #""access_token":"a2","refresh_token":"r2""#

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let response: ServiceResponse

        init(_ description: String, _ body: String, status: Int = 200, _ fields: KeyValuePairs<String, String> = [:]) {
            testDescription = description
            response = ServiceResponse(status, fields, body)
        }

        /// A text in UTF-16.
        init(_ description: String, utf16 text: String, isBig: Bool, hasMark: Bool = false) {
            testDescription = description
            var response = ServiceResponse(200)
            let units = (hasMark ? [0xFEFF] : []) + Array(text.utf16)
            let bytes = units.map { isBig ? $0.bigEndian : $0.littleEndian }.withUnsafeBytes { Array($0) }
            response.body = WipedBytes(bytes)
            self.response = response
        }

        /// A compressed body.
        init(_ description: String, base64: String, coding: String? = nil) {
            testDescription = description
            var response = ServiceResponse(200)
            if let coding { response.head.headerFields[.contentEncoding] = coding }
            response.body = WipedBytes([UInt8](Data(base64Encoded: base64) ?? Data()))
            self.response = response
        }

        /// A body that is not UTF-8.
        init(_ description: String, _ start: String, _ bytes: [UInt8], _ end: String) {
            testDescription = description
            var response = ServiceResponse(200)
            response.body = WipedBytes(Array(start.utf8) + bytes + Array(end.utf8))
            self.response = response
        }
    }

    static let rows: [Row] =
        [
            // The label and the status.
            Row("text/html", "{\(tokens)}", ["Content-Type": "text/html; charset=utf-8"]),
            Row("application/jwt", "{\(tokens)}", ["Content-Type": "application/jwt"]),
            Row("two media types", "{\(tokens)}", ["Content-Type": "text/html, application/json"]),
            Row("only labelled as gzip", "{\(tokens)}", ["Content-Encoding": "gzip"]),
            Row("only labelled as deflate", "{\(tokens)}", ["Content-Encoding": "deflate"]),
            Row("a character set as coding", "{\(tokens)}", ["Content-Encoding": "UTF-8"]),
            // The text around the object.
            Row("a byte order mark", "\u{FEFF}{\(tokens)}"),
            Row("a warning of PHP", "<br />\n<b>Notice</b>: Undefined index in <b>token.php</b><br />\n{\(tokens)}"),
            Row("a guard against scripts", ")]}',\n{\(tokens)}"),
            Row("a callback", "callback({\(tokens)});"),
            Row("a text after the object", "{\(tokens)}\n<!-- 12 ms -->"),
            Row("two objects", #"{"status":"ok"}"# + "\n{\(tokens)}"),
            Row("a warning with braces", "Notice: Undefined index {name} in {}<br>{\(tokens)}"),
            Row("UTF-16 with the low byte first", utf16: "{\(tokens)}", isBig: false),
            Row("UTF-16 with the high byte first", utf16: "{\(tokens)}", isBig: true),
            Row("UTF-16 with a byte order mark", utf16: "{\(tokens)}", isBig: false, hasMark: true),
            // The members.
            Row("spaces around the token", #"{"access_token":" a2\r\n","refresh_token":"r2"}"#),
            Row("other capital letters", #"{"accessToken":"a2","Refresh_Token":"r2","tokenType":"bearer"}"#),
            Row("other separators", #"{"Access-Token":"a2","refresh-token":"r2"}"#),
            Row("both names", #"{"accessToken":"other","access_token":"a2","refresh_token":"r2"}"#),
            Row("a list of types", "{\(tokens),\"token_type\":[\"Bearer\"]}"),
            Row("an error of 0", #"{"error":0,"data":{\#(tokens)}}"#),
            Row("an empty error", #"{"error":{},"data":{\#(tokens)}}"#),
            Row("a lone surrogate", #"{"name":"\ud83d",\#(tokens)}"#),
            Row("a lone surrogate in a name", #"{"\ud83d":1,\#(tokens)}"#),
            Row("an invalid escape", #"{"scope":"a\q",\#(tokens)}"#),
            Row("a control character", "{\"name\":\"a\u{1}\nb\",\(tokens)}"),
            Row("no number", "{\(tokens),\"expires_in\":NaN}"),
            Row("a comma at the end", "{\(tokens),}"),
            Row(
                "a deep value",
                "{\"x\":\(String(repeating: "[", count: 5000))1\(String(repeating: "]", count: 5000)),\(tokens)}"),
            Row("no end", "{\(tokens),\"expires_in\":36"),
            Row("no end of a string", "{\(tokens),\"scope\":\"open"),
            Row("members twice", "{\(tokens),\"scope\":\"a\",\"scope\":\"b\",\"access_token\":\"other\"}"),
            Row("an access token of null before another", #"{"access_token":null,\#(tokens)}"#),
            Row("an ID token of another type", #"{"id_token":{"a":1},\#(tokens)}"#),
            Row("an error beside the tokens", #"{"error":"none",\#(tokens)}"#),
            Row("an object for the issued type", #"{"issued_token_type":{},\#(tokens)}"#),
            Row("bytes that are not UTF-8", "{\"name\":\"M", [0xFC], "ller\",\(tokens)}"),
            // The shape.
            Row("in another object", #"{"status":"ok","data":{\#(tokens)}}"#),
            Row("in an array", "[{\(tokens)}]"),
            Row("in an array after another object", #"[{"status":"ok"},{\#(tokens)}]"#),
            Row("beside an object with another token", #"{"user":{"id_token":"i"},"result":{\#(tokens)}}"#),
            Row("around the access token", #"{"refresh_token":"r2","session":{"access_token":"a2"}}"#),
            Row("a string in a string", #""\"{\\\"access_token\\\":\\\"a2\\\",\\\"refresh_token\\\":\\\"r2\\\"}\"""#),
            Row("a form in lines", "access_token=a2\r\nrefresh_token=r2\n"),
            Row("in a string", #"{"body":"{\"access_token\":\"a2\",\"refresh_token\":\"r2\"}"}"#),
            Row("a string", #""{\"access_token\":\"a2\",\"refresh_token\":\"r2\"}""#),
            Row("a form", "access_token=a2&refresh_token=r2&token_type=bearer&expires_in=3600&scope=a+b"),
            Row("a form with escapes", "access%5Ftoken=%61%32&refresh_token=r2\r\n", ["Content-Type": "text/plain"]),
            // The coding.
            Row(
                "gzip", base64: "H4sIAAAAAAACA6tWSkxOTi0uji/Jz07NU7JSSjRS0lEqSk0rSi3OgAsWGSnVAgDEsuLKKgAAAA==",
                coding: "gzip"),
            Row(
                "gzip without a label",
                base64: "H4sIAAAAAAACA6tWSkxOTi0uji/Jz07NU7JSSjRS0lEqSk0rSi3OgAsWGSnVAgDEsuLKKgAAAA=="),
            Row(
                "gzip in gzip",
                base64:
                    "H4sIAAAAAAACA5Pv5mAAASbm1WFePn5+unp9+ifP+50N3hTkZRJ0KVDLy1fbS/dcA7eYpOZVJoYjmx6d0gIqBwDonnswNwAAAA==",
                coding: "gzip, gzip"),
            Row(
                "deflate in gzip",
                base64: "H4sIAAAAAAACA6uYszrMy8fPT1evT//keb+zwZuCvEyCLgVqeflqe+mea+AWk9S8ysRgbcLnCADpnaKNKwAAAA==",
                coding: "deflate, gzip"),
            Row(
                "gzip in two members",
                base64:
                    "H4sIAAAAAAACA6tWSkxOTi0uji/Jz07NU7JSSjRSAgAY9zQfFAAAAB+LCAAAAAAAAgPTUSpKTStKLc6IL8nPTs1TslIqMlKqBQAIAsVNFgAAAA=="
            ),
            Row(
                "gzip without an end", base64: "H4sIAAAAAAACA6pWSkxOTi0uji/Jz07NU7JSSjRS0lEqSk0rSi3OgAsWGSnVAgAAAP//"),
            Row(
                "gzip that is cut",
                base64:
                    "H4sIAAAAAAACAz3OQQrCQAxG4atI1i7Mr1XrZaQMKYJgZcadeHdt8+rqkUA+8rahlGjt+pru8bCLDbKt1RhrtNt/WedlK9MzfsPS3WaJZ5TZZw6"
                    + "ZLnPMnDLnTM8="),
            Row("deflate without a label", base64: "eNqrVkpMTk4tLo4vyc9OzVOyUko0UtJRKkpNK0otzoALFhkp1QIAOzQOQQ=="),
            Row("deflate without a checksum", base64: "eNqrVkpMTk4tLo4vyc9OzVOyUko0UtJRKkpNK0otzoALFhkp1QI="),
            Row(
                "gzip without compression",
                base64: "H4sIAAAAAAAEAwEqANX/eyJhY2Nlc3NfdG9rZW4iOiJhMiIsInJlZnJlc2hfdG9rZW4iOiJyMiJ9xLLiyioAAAA=",
                coding: "x-gzip"),
            Row(
                "gzip with its own codes",
                base64:
                    "H4sIAAAAAAACA0VQywoCMQz8FcnZQ5Omr/0ZWUpFEFzZehP/3VczPSUdJvPok9ZaW++nx3ZtN1poFTrS3s576xeA+xfsdbu3/nn9lsUd/"
                    + "pPH1DGL4XEsEsbiDVHjRDvKpsIOugJMFZpQL5CHvgRg2XheFO5ICg9VYNl4Qew2JNOL8IjAEngJtxl6BR4lzm4Iww4JmRGbZxcWFGQ/"
                    + "W+v8iiBMrzceWUc9vwEAAA==",
                coding: "gzip"),
            Row("deflate", base64: "eNqrVkpMTk4tLo4vyc9OzVOyUko0UtJRKkpNK0otzoALFhkp1QIAOzQOQQ==", coding: "deflate"),
            Row(
                "deflate without zlib", base64: "q1ZKTE5OLS6OL8nPTs1TslJKNFLSUSpKTStKLc6ACxYZKdUCAA==",
                coding: "Deflate"),
        ] + [201, 202, 203, 206, 226, 299].map { Row("status \($0)", "{\(tokens)}", status: $0) }

    @Test(arguments: rows, [false, true])
    func `Reads the tokens in an odd response`(row: Row, isRefresh: Bool) throws {
        let credentials = try ResponseParser(.token, isRefresh: isRefresh).credentials(in: row.response, for: "tool")
        #expect(credentials.accessToken == Secret("a2") && credentials.refreshToken == Secret("r2"))
        #expect(credentials.tokenType == "Bearer" && !credentials.isWithheld)
    }

    @Test func `Reads the other members of a form and of damaged JSON`() throws {
        for body in [
            "access_token=a2&expires_in=3600&scope=a+b",
            #"{"access_token":"a2","x":\ud83d,"scope":"a b","expires_in":3600}"#,
        ] {
            let credentials = try ResponseParser(.token).credentials(in: ServiceResponse(200, [:], body), for: "tool")
            #expect(credentials.scopes == ["a", "b"] && credentials.issuedAt == FixedClock().now)
        }
        let cut = #"{"access_token":"a2","expires_in":36"#
        #expect(try ResponseParser(.token).credentials(in: ServiceResponse(200, [:], cut), for: nil).expiresAt == nil)
    }

    @Test(arguments: [
        "<!DOCTYPE html><script>{\(tokens)}</script>", "<html>{\(tokens)}", "<p>a=b&access_token=a2</p>", "token=a2",
        #"{"error":"invalid_grant","old":{\#(tokens)}}"#, #"{"access_token":"\ud83d"}"#, #"{"access_token":"a2"#, "a2",
        #"{"scope":"access_token=a2"}"#, "",
    ])
    func `Reads no token in another response`(body: String) {
        let response = ServiceResponse(200, [:], body)
        #expect(failure { try ResponseParser(.token).credentials(in: response, for: "tool") } != nil)
    }

    @Test(arguments: [400, 401, 403, 500, 302])
    func `Reads no token in a failure`(status: Int) {
        let response = ServiceResponse(status, [:], "{\(Self.tokens)}")
        #expect(failure { try ResponseParser(.token).credentials(in: response, for: "tool") } != nil)
    }

    /// A value that another user may choose, such as a name, must not replace the tokens.
    @Test(arguments: [
        #"{"user":{"meta":{"access_token":"x","refresh_token":"x"}},"data":{\#(tokens)}}"#,
        #"{"user":{"name":"{\"access_token\":\"x\",\"refresh_token\":\"x\"}"},"data":{\#(tokens)}}"#,
        #"{"name":"{\"access_token\":\"x\",\"refresh_token\":\"x\"}","a":{"b":{"c":{\#(tokens)}}}}"#,
        #"{"name":"access_token=x&refresh_token=x","data":[{"meta":{"access_token":"x"}},{\#(tokens)}]}"#,
        #"[{"meta":{"access_token":"x","refresh_token":"x"}},{\#(tokens)}]"#,
        #"{"meta":{"access_token":"x"},"refresh_token":"r2","access_token":"a2"}"#,
    ])
    func `Prefers the tokens that are nested least, and objects to strings`(body: String) throws {
        let credentials = try ResponseParser(.token).credentials(in: ServiceResponse(200, [:], body), for: "tool")
        #expect(credentials.accessToken == Secret("a2") && credentials.refreshToken == Secret("r2"))
    }

    @Test func `Takes no access token from a text beside the refresh token`() throws {
        let text = #"{"refresh_token":"r2","user":{"name":"{\"access_token\":\"x\"}"}}"#
        let session = account(at: "https://login.example.com", refreshToken: "r1").credentials
        let credentials = try ResponseParser(.token, isRefresh: true)
            .credentials(in: ServiceResponse(200, [:], text), for: "tool", refreshing: session)
        #expect(credentials.lacksAccessToken && credentials.refreshToken == Secret("r2"))
    }

    /// Each of these objects is searched within each of the others. Without a limit, this takes hours.
    @Test(arguments: [#"{"a":"#, #"{"a":["#, #"[{"a":"#])
    func `Searches damaged objects within each other in a short time`(start: String) {
        let end = String(start.reversed().compactMap { ["{": ",@}", "[": "]"][$0] }.joined())
        let text = String(repeating: "x", count: 200_000)
        let body = String(repeating: start, count: 200) + "\"\(text)\"" + String(repeating: end, count: 200)
        let time = ContinuousClock().measure {
            let response = ServiceResponse(200, [:], body)
            #expect(failure { try ResponseParser(.token).credentials(in: response, for: "tool") } != nil)
        }
        #expect(time < .seconds(30))
    }

    // MARK: Parts

    @Test(arguments: [
        (#"{"access_token":"a2","refresh_token":"r2"}"#, "r2"), (#"{"access_token":"a2","refresh_token":"r"#, nil),
        (#"{"access_token":"a2","refresh_token":12"#, nil), ("access_token=a2&refresh_token=r", nil),
        ("access_token=a2&refresh_token=r2&scope", "r2"),
    ])
    func `Reads the complete values of a part`(body: String, refreshToken: String?) throws {
        var response = ServiceResponse(200, [:], body)
        response.interruption = .noResponse(.truncated)
        let credentials = try ResponseParser(.token).credentials(in: response, for: "tool")
        #expect(credentials.accessToken == Secret("a2"))
        #expect(credentials.refreshToken == refreshToken.map { Secret($0) })
    }

    @Test(arguments: ["", "{", #"{"access_token":"a"#, "access_token=a", #"{"error":"invalid_grant"}"#])
    func `Reports the interruption of a part without token`(body: String) {
        var response = ServiceResponse(200, [:], body)
        response.interruption = .noResponse(.truncated)
        #expect(
            failure { try ResponseParser(.token).credentials(in: response, for: "tool") } == .noResponse(.truncated))
    }

    @Test(arguments: [
        "null", "false", #""""#, #"" ""#, #""\n""#, #""null""#, #""undefined""#, "{}", "[]", #"["r2"]"#, "-1",
    ])
    func `Takes no value for a refresh token`(value: String) throws {
        let response = ServiceResponse(200, [:], #"{"access_token":"a2","refresh_token":\#(value)}"#)
        let credentials = try ResponseParser(.token, isRefresh: true).credentials(in: response, for: "tool")
        #expect(credentials.accessToken == Secret("a2") && credentials.refreshToken == nil)
    }

    @Test func `Sends back a refresh token exactly as it arrived`() throws {
        let response = ServiceResponse(200, [:], #"{"access_token":"a2","refresh_token":"r 2\n"}"#)
        let credentials = try ResponseParser(.token).credentials(in: response, for: "tool")
        #expect(credentials.refreshToken == Secret("r 2\n"))
    }

    // MARK: Only the next refresh token

    @Test(arguments: [
        #"{"refresh_token":"r2"}"#, #"{"access_token":"\ud83d","refresh_token":"r2"}"#,
        #"{"access_token":"a b","refresh_token":"r2"}"#, #"{"access_token":{"value":"a"},"refresh_token":"r2"}"#,
        "refresh_token=r2",
    ])
    func `Keeps the next refresh token of a response without access token`(body: String) throws {
        let response = ServiceResponse(202, [:], body)
        let session = account(at: "https://login.example.com", refreshToken: "r1").credentials
        let parser = ResponseParser(.token, isRefresh: true)
        let credentials = try parser.credentials(in: response, for: "tool", refreshing: session)
        #expect(credentials.lacksAccessToken)
        let renewed = session.renewed(by: credentials)
        var expected = session
        expected.refreshToken = Secret("r2")
        #expect(renewed == expected)
        // An object for an error means that the refresh token is not new.
        let object = ServiceResponse(200, [:], #"{"error":{"code":"invalid_grant"},"refresh_token":"r1"}"#)
        #expect(
            kind(failure { try parser.credentials(in: object, for: "tool", refreshing: session) }) == .unclear("…"))
        // At a sign-in there is no session, and an error decides.
        #expect(failure { try ResponseParser(.token).credentials(in: response, for: "tool") } != nil)
        let error = ServiceResponse(200, [:], #"{"error":"invalid_grant","refresh_token":"r2"}"#)
        #expect(
            failure { try parser.credentials(in: error, for: "tool", refreshing: session) }
                == .oauthError("invalid_grant"))
    }

    // MARK: Decompression

    @Test func `Limits the length of a decompressed body`() throws {
        let body = WipedBytes(
            [UInt8](
                try #require(
                    Data(base64Encoded: "H4sIAAAAAAACA6tWSkxOTi0uji/Jz07NU7JSSjRS0lEqSk0rSi3OgAsWGSnVAgDEsuLKKgAAAA=="))
            ))
        #expect(try Inflater.gunzipped(body, limit: 42).count == 42)
        #expect(throws: Inflater.Failure.tooLong) { try Inflater.gunzipped(body, limit: 41) }
    }

    /// Returns spaces as a gzip file of stored blocks (RFC 1951, section 3.2.4), compressed `times` times in the same way.
    private static func gzip(_ content: [UInt8], times: Int = 1) -> [UInt8] {
        (0..<times).reduce(content) { content, _ in
            var file: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
            for start in stride(from: 0, to: content.count, by: 65535) {
                let block = content[start..<min(start + 65535, content.count)]
                let (low, high) = (UInt8(block.count & 255), UInt8(block.count >> 8))
                file += [start + block.count == content.count ? 1 : 0, low, high, ~low, ~high] + block
            }
            return file + [UInt8](repeating: 0, count: 8)
        }
    }

    @Test(arguments: [(0, 1), (0, 3), (1, 1), (1, 2), (1, 3)])
    func `Discards a body that is longer than 1 MiB when it is decompressed`(excess: Int, times: Int) throws {
        let start = Array("{\(Self.tokens)}".utf8)
        let content = start + [UInt8](repeating: 0x20, count: (1 << 20) - start.count + excess)
        var response = ServiceResponse(200, ["Content-Encoding": "gzip"])
        // The files around it are longer than the content.
        let inner = times == 1 ? content : Array(content.prefix(excess == 0 ? (1 << 20) - 1000 : content.count))
        response.body = WipedBytes(Self.gzip(inner, times: times))
        let whole = response.decompressed()
        let parser = ResponseParser(.token)
        if excess == 0 {
            #expect(whole.isBodyWhole && whole.body.count == inner.count)
            #expect(try parser.credentials(in: response, for: "tool").accessToken == Secret("a2"))
        } else {
            #expect(!whole.isBodyWhole && whole.body.isEmpty)
            #expect(failure { try parser.credentials(in: response, for: "tool") } != nil)
            #expect(failure { try parser.object(in: response) } != nil)
        }
    }

    @Test func `Refuses each part of a compressed body, and damaged bytes`() throws {
        let body = try #require(Data(base64Encoded: "q1ZKTE5OLS6OL8nPTs1TslJKNFLSUSpKTStKLc6ACxYZKdUCAA=="))
        for count in 0..<(body.count - 1) {
            #expect(throws: Inflater.Failure.invalid) {
                try Inflater.inflated(WipedBytes([UInt8](body.prefix(count))), limit: 100)
            }
        }
        // Damaged bytes may decode to something else, but must not trap.
        for index in 0..<body.count {
            for byte in 0...UInt8.max {
                var damaged = [UInt8](body)
                damaged[index] = byte
                _ = try? Inflater.inflated(WipedBytes(damaged), limit: 10_000)
            }
        }
    }
}
