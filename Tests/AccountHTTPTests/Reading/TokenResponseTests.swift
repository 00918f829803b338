import AccountKit
import FoundationEssentials
import Testing

@testable import AccountHTTP

@Suite("Token responses")
struct TokenResponseTests {
    private func credentials(_ body: String) throws(AuthorityError) -> Credentials {
        try ResponseParser(.token).credentials(in: .json(200, body), for: "tool")
    }

    @Test("Reads all token response fields of RFC 6749, section 5.1")
    func whole() throws {
        let credentials = try credentials(
            #"""
            {"access_token":"2YotnFZFEjr1zCsicMWpAA","token_type":"bearer","expires_in":3600,
             "refresh_token":"tGzv3JOkF0XG5Qx2TlKWIA","id_token":"a.b.c","scope":"openid  email","example":1}
            """#)
        #expect(
            credentials
                == Credentials(
                    accessToken: Secret("2YotnFZFEjr1zCsicMWpAA"), refreshToken: Secret("tGzv3JOkF0XG5Qx2TlKWIA"),
                    idToken: Secret("a.b.c"), tokenType: "Bearer", scopes: ["openid", "email"], clientID: "tool",
                    issuedAt: FixedClock().now, expiresAt: FixedClock().now.addingTimeInterval(3600)))
    }

    @Test(
        "Rejects a token response without a valid access token",
        arguments: [
            "{}", #"{"access_token":""}"#, #"{"access_token":null}"#, #"{"access_token":4.5}"#,
            #"{"access_token":["a"]}"#, #"{"access_token":"a b"}"#, #"{"access_token":"a\r\nX-Evil: 1"}"#,
            #"{"access_token":"ü"}"#, #"{"token":"a"}"#, #"{"access_token":"null"}"#,
        ])
    func noToken(_ body: String) {
        #expect(kind(failure { try credentials(body) }) == .unclear("…"))
    }

    @Test(
        "Treats empty, null or mistyped optional fields as missing",
        arguments: [#""""#, "null", "4.5", "{}"])
    func oddOptionals(_ value: String) throws {
        let credentials = try credentials(
            #"{"access_token":"a","refresh_token":\#(value),"id_token":\#(value),"scope":\#(value)}"#)
        #expect(credentials.refreshToken == nil)
        #expect(credentials.idToken == nil)
        #expect(credentials.scopes == [])
    }

    @Test(
        "Takes every type of token for Bearer, unless it names another protocol",
        arguments: [
            (#""Bearer""#, true), (#""bEARER""#, true), ("null", true), (#""BearerToken""#, true),
            (#""bearer ""#, true),
            (#""Bearer Token""#, true), (#""N_A""#, true), (#""""#, true), (#"" ""#, true), ("1", true), ("[]", true),
            (#""access_token""#, true), (#""user""#, true), (#""JWT""#, true), (#""\ud83d""#, true),
            (#""mac""#, false), (#""DPoP""#, false), (#""PoP""#, false), (#""MAC SHA-256""#, false),
            (#""pop-token""#, false), (#"["Bearer"]"#, true), (#"["mac"]"#, false),
        ])
    func tokenType(_ value: String, _ isSupported: Bool) throws {
        let credentials = try credentials(#"{"access_token":"a","token_type":\#(value)}"#)
        #expect(credentials.hasWrongType == !isSupported)
        #expect(!isSupported || credentials.tokenType == "Bearer")
    }

    @Test("Hides a newly issued token in an error")
    func issuedToken() throws {
        let credentials = try credentials(#"{"access_token":"\#(canary)","token_type":"mac \#(canary)"}"#)
        #expect(credentials.hasWrongType)
        #expect(!credentials.flawOfType(in: credentials).contains(canary))
        #expect(!credentials.tokenType.contains(canary))
    }

    @Test(
        "Reads expires_in as seconds, and ignores an implausible value",
        arguments: [
            ("1", 1.0), ("3600", 3600), ("3600.0", 3600), ("3.6e3", 3600), ("315360000", 315_360_000),
            // Some services send a string or a fraction.
            (#""3600""#, 3600), (#""3.0""#, 3), ("3.9", 3), (#""3.9""#, 3), (#"" 3600 ""#, 3600), (#""3600.0""#, 3600),
            (#""36e2""#, 3600), (#""+3600""#, 3600), (#""0003600""#, 3600), ("3600.5", 3600), (#""3600\n""#, 3600),
            // The expiry is unknown, so the token never counts as expired.
            ("315360001", nil), ("0", nil), ("-1", nil), (#""-3600""#, nil), ("0.5", nil), (#""""#, nil),
            (#""1h""#, nil),
            (#""0x10""#, nil), (#""inf""#, nil), (#""3,600""#, nil), (#""1 2""#, nil), (#""1e300""#, nil),
            (#"".5""#, nil),
            ("1800003600000", nil), ("1e300", nil), ("99999999999999999999", nil), ("true", nil), ("null", nil),
            ("[3600]", nil), ("{}", nil),
        ])
    func expiresIn(_ value: String, _ seconds: Double?) throws {
        let credentials = try credentials(#"{"access_token":"a","expires_in":\#(value)}"#)
        #expect(credentials.expiresAt == seconds.map { FixedClock().now.addingTimeInterval($0) })
    }
}
