import AccountKit
import AccountCrypto
import Testing

@testable import AccountHTTP
import AccountSupport

@Suite("Response objects and their secrets")
struct ResponseObjectTests {
    private func read(_ text: String) -> ResponseObject? {
        ResponseObject(WipedBytes(text.utf8), secrets: ["access_token", "refresh_token"])
    }

    @Test("Reads a secret and leaves a placeholder")
    func secrets() throws {
        let object = try #require(
            read(
                #" {"a": [1, {"access_token": "inner"}, "]}"] , "access_token" :"t\"1", "refresh_token":"", "b":"x"} "#)
        )
        #expect(object.secrets == ["access_token": Secret("t\"1")])
        #expect(object.members["access_token"] == .string("*"))
        #expect(object.members["refresh_token"] == .string(""))
        #expect(object.members["b"] == .string("x"))
        #expect(
            object.members["a"] == .array([.integer(1), .object(["access_token": .string("inner")]), .string("]}")]))
    }

    @Test(
        "Decodes the escapes of a secret (RFC 8259, section 7)",
        arguments: [
            #"a\/b\u002B\u002f"#, #"\"\\\/\b\f\n\r\t"#, #"\u00fc\u20AC\ud83d\uDE00"#, "ü€😀", #"\u0000"#, #"x\\"#,
        ])
    func escapes(_ text: String) throws {
        let plain = try #require(JSONValue.object(from: Array("{\"x\":\"\(text)\"}".utf8))?["x"]?.string)
        #expect(read("{\"access_token\":\"\(text)\"}")?.secrets["access_token"]?.reveal() == plain)
    }

    @Test("Recognizes a secret whose JSON name contains escapes")
    func escapedName() {
        #expect(read(#"{"access\u005ftoken":"t"}"#)?.secrets["access_token"] == Secret("t"))
    }

    @Test(arguments: [("7", "7"), ("1234567890123456789012 ", "1234567890123456789012"), ("0", "0")])
    func `Reads the digits of a secret that is a number`(value: String, digits: String) throws {
        let object = try #require(read(#"{"a":1,"access_token": \#(value),"b":[2]}"#))
        #expect(object.secrets == ["access_token": Secret(digits)])
        #expect(object.members == ["a": .integer(1), "access_token": .string("*"), "b": .array([.integer(2)])])
    }

    @Test(arguments: ["-7", "7.5", "7e1", "true", "null", "[7]", "{}"])
    func `Reads no secret from another value`(value: String) throws {
        #expect(try #require(read(#"{"access_token":\#(value)}"#)).secrets == [:])
    }

    @Test("Reads the first of two secrets with the same name")
    func twice() {
        let object = read(#"{"access_token":"one","access_token":"two"}"#)
        #expect(object?.secrets["access_token"] == Secret("one"))
        #expect(object?.members["access_token"] == .string("*"))
        #expect(read(#"{"access_token":1,"access_token":"two"}"#)?.secrets == ["access_token": Secret("1")])
        #expect(read(#"{"access_token":null,"access_token":"two"}"#)?.secrets == [:])
    }

    @Test("Ignores an error in an object with duplicate members")
    func twoErrors() {
        #expect(read(#"{"error":"invalid_grant","error":"server_error"}"#)?.members == [:])
        #expect(read(#"{"error":"invalid_grant","\u0065rror":"invalid_grant"}"#)?.members == [:])
        #expect(read(#"{"error":"invalid_grant","a":1,"a":"\x"}"#)?.members["error"] == nil)
        let failure = failure {
            try ResponseParser(.token).object(in: .json(400, #"{"error":"invalid_grant","error":"invalid_request"}"#))
        }
        #expect(failure == .refused(status: 400))
    }

    @Test("Reads the tokens but no error from a response with invalid UTF-8")
    func garbled() throws {
        let garbled =
            [UInt8]("{\"error\":\"invalid_grant\",\"access_token\":\"a\",\"refresh_token\":\"".utf8) + [
                0xFE, 0x22, 0x7D,
            ]
        let object = try #require(ResponseObject(WipedBytes(garbled), secrets: ["access_token", "refresh_token"]))
        #expect(object.members["error"] == nil)
        #expect(object.secrets["access_token"] == Secret("a"))
    }

    @Test(
        "Rejects a response with invalid JSON",
        arguments: [
            "", "{", "[]", "null", #""{}""#, "{}x", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":1"#, #"{a:1}"#, "{,}",
            #"{"access_token":"t}"#, #"{"access_token":"\x"}"#, #"{"access_token":"\u12"}"#,
            #"{"access_token":"\ud83d"}"#, #"{"access_token":"\ud83dA"}"#, #"{"access_token":"\udE00"}"#,
            "{\"access_token\":\"a\nb\"}", #"{"access_token":"a"#, #"{"access_token":"a\"#, #"{"a":[}"#,
            #"{"a":"b" "c":1}"#,
        ])
    func malformed(_ text: String) {
        #expect(read(text) == nil, "\(text)")
    }

    @Test("Rejects a response in UTF-16")
    func otherEncodings() {
        let text = Array(#"{"error":"invalid_grant"}"#.utf16)
        #expect(JSONValue.object(from: text.flatMap { [UInt8($0), 0] }) == nil)
        #expect(JSONValue.object(from: text.flatMap { [0, UInt8($0)] }) == nil)
        #expect(ResponseObject(WipedBytes(text.flatMap { [UInt8($0), 0] }), secrets: []) == nil)
    }
}
