import AccountKit
import AccountSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite struct JSONWebTokenTests {
    private func token(_ payload: String) -> Secret {
        let text = Data(payload.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
        return Secret("eyJhbGciOiJub25lIn0.\(text).")
    }

    @Test func `Reads issue and expiry dates of a JWT with or without fractions`() throws {
        let token = try #require(JSONWebToken(token(#"{"sub":"ä???>>>","iat":1900000000,"exp":1900003600.5}"#)))
        #expect(token.issuedAt == Date(timeIntervalSince1970: 1_900_000_000))
        #expect(token.expiresAt == Date(timeIntervalSince1970: 1_900_003_600.5))
        #expect(token.claims["sub"] == .string("ä???>>>"))
    }

    @Test(arguments: [
        #"{}"#, #"{"exp":"soon"}"#, #"{"exp":null}"#, #"{"exp":true}"#, #"{"exp":-1}"#, #"{"exp":1e300}"#,
        #"{"exp":1900003600000}"#, #"{"exp":[1900003600]}"#,
    ])
    func `Reads an invalid date of a JWT as unknown`(claims: String) throws {
        let token = try #require(JSONWebToken(token(claims)))
        #expect(token.issuedAt == nil)
        #expect(token.expiresAt == nil)
    }

    @Test(arguments: [#""1900003600""#, #"" 1900003600 ""#, #""1900003600.0""#, #""2030-03-17T18:46:40Z""#])
    func `Reads dates of a JWT that are text`(date: String) throws {
        let token = try #require(JSONWebToken(token(#"{"iat":\#(date),"exp":\#(date)}"#)))
        #expect(token.issuedAt == Date(timeIntervalSince1970: 1_900_003_600))
        #expect(token.expiresAt == token.issuedAt)
    }

    @Test func `Reads the expiry of a JWT despite an invalid issue date`() throws {
        let token = try #require(JSONWebToken(token(#"{"iat":"yesterday","exp":1900003600}"#)))
        #expect(token.issuedAt == nil)
        #expect(token.expiresAt == Date(timeIntervalSince1970: 1_900_003_600))
    }

    @Test(arguments: [
        "", ".", "..", "...", "a.b", "a.b.c", "a.!.c", "a.b.c.d", "opaque", "e30.e30", ".e30.", "e30..e30",
        "e30.e30.e30.e30", "e30.e30.e30.e30.e30", "e30.e3 0.x", "e30.e30=.x", "e30.+/8.x", "e30.AAAAA.x",
        "e30.\u{0}\u{FF}.c", "gho_16C7e42F292c6912E7710c838347Ae178B4a",
    ])
    func `Rejects text that is not a JSON Web Token`(text: String) {
        #expect(JSONWebToken(Secret(text)) == nil)
    }

    @Test(arguments: ["[]", "[1900003600]", "{", "", "null", "no JSON"])
    func `Rejects a JWT whose payload is not a JSON object`(payload: String) {
        #expect(JSONWebToken(token(payload)) == nil)
    }

    @Test func `Rejects a JWT with a payload of more than 64 KiB`() {
        func isRead(filling: Int) -> Bool {
            JSONWebToken(token(#"{"a":"\#(String(repeating: "x", count: filling))"}"#)) != nil
        }
        #expect(isRead(filling: 49_000))
        #expect(!isRead(filling: 49_200))
    }
}
