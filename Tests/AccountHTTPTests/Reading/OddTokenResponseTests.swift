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
            // The members.
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
                == .oauthError(.invalidGrant))
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
