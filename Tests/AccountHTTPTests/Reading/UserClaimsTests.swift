import AccountKit
import FoundationEssentials
import Testing

@testable import AccountHTTP

@Suite("User claims")
struct UserClaimsTests {
    private func identity(_ body: String) throws(AuthorityError) -> Identity {
        try ResponseParser(.userInfo, sent: [Secret(canary)]).identity(in: .json(200, body))
    }

    @Test("Converts all claims except sub and null to profile fields")
    func claims() throws {
        let identity = try identity(
            #"""
            {"sub":"248289761001","name":"Jane Doe","preferred_username":"jane","email":"jane@example.com",
             "email_verified":"true","phone_number_verified":false,"updated_at":1311280970,"height":1.68,"gone":null,
             "groups":["a",null,"b"],"address":{"locality":"Bern","region":null},"urn:x":"y"}
            """#)
        #expect(
            identity
                == Identity(
                    id: "248289761001", username: "jane",
                    profile: [
                        "name": "Jane Doe", "preferred_username": "jane", "email": "jane@example.com",
                        "email_verified": true, "phone_number_verified": false, "updated_at": 1_311_280_970,
                        "height": 1.68, "groups": ["a", "b"], "address": ["locality": "Bern"], "urn:x": "y",
                    ]))
        #expect(identity.profile.isEmailVerified == true)
    }

    @Test(
        "Reads the user name from preferred_username, else from username",
        arguments: [
            (#"{"sub":"1","username":"j","preferred_username":"jane"}"#, "jane"), (#"{"sub":"1","username":"j"}"#, "j"),
            (#"{"sub":"1","username":"j","preferred_username":""}"#, "j"),
            (#"{"sub":"1","preferred_username":7}"#, "7"), (#"{"sub":"1","preferred_username":["j"]}"#, nil),
            (#"{"sub":"1","name":"Jane"}"#, nil),
        ])
    func username(_ body: String, _ expected: String?) throws {
        #expect(try identity(body).username == expected)
    }

    @Test func `Reads standard claims in other types`() throws {
        let user = try identity(
            #"""
            {"sub":4711,"name":7,"phone_number":41441234567,"email_verified":1,"phone_number_verified":" FALSE ",
             "updated_at":"2011-07-21T20:42:50Z","points":"7"}
            """#)
        #expect(user.id == "4711")
        #expect(
            user.profile
                == [
                    "name": "7", "phone_number": "41441234567", "email_verified": true, "phone_number_verified": false,
                    "updated_at": 1_311_280_970, "points": "7",
                ])
        #expect(try identity(#"{"sub":"1","updated_at":"1311280970"}"#).profile["updated_at"] == 1_311_280_970)
        // A value without a clear meaning stays as the service wrote it.
        let odd = try identity(#"{"sub":"1","email_verified":"perhaps","updated_at":"yesterday"}"#)
        #expect(odd.profile == ["email_verified": "perhaps", "updated_at": "yesterday"])
    }

    /// A signed response with these claims. The signature is not verified.
    private func signed(_ claims: String) throws -> Identity {
        let payload = Data(claims.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
        let response = ServiceResponse(200, ["Content-Type": "application/jwt"], "eyJhbGciOiJSUzI1NiJ9.\(payload).c2ln")
        return try ResponseParser(.userInfo, sent: [Secret(canary)]).identity(
            in: response, from: Issuer("https://login.example"), for: "tool")
    }

    @Test func `Reads signed user info from the service for the client`() throws {
        let user = try signed(#"{"iss":"https://login.example","aud":["tool"],"sub":"7","name":"Jane","iat":1}"#)
        #expect(user == Identity(id: "7", username: nil, profile: ["name": "Jane"]))
        #expect(try signed(#"{"sub":"7"}"#).id == "7")
        #expect(throws: AuthorityError.self) { try signed(#"{"iss":"https://evil.example","sub":"7"}"#) }
        #expect(throws: AuthorityError.self) { try signed(#"{"aud":"other","sub":"7"}"#) }
        #expect(throws: AuthorityError.self) { try signed(#"{"aud":"tool"}"#) }
    }

    @Test(
        "Rejects user info without a valid sub",
        arguments: [
            "{}", #"{"sub":""}"#, #"{"sub":null}"#, #"{"sub":1.5}"#, #"{"sub":true}"#, #"{"sub":["1"]}"#,
            #"{"id":"1"}"#, #"{"sub":"\#(canary)"}"#,
        ])
    func noSubject(_ body: String) {
        #expect(kind(failure { try identity(body) }) == .unclear("…"))
    }

    @Test("Converts no claims about the ID token itself to profile fields")
    func protocolClaims() throws {
        let token = jsonWebToken(
            #"{"sub":"1","iss":"https://id.example","aud":"tool","exp":2,"iat":1,"nonce":"n","name":"Jane"}"#)
        #expect(IDToken(token)?.identity?.profile == ["name": "Jane"])
    }
}
