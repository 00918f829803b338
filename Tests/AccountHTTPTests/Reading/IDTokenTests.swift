import AccountKit
import Testing

@testable import AccountHTTP

@Suite("ID tokens of a sign-in")
struct IDTokenTests {
    // The tests' fixed clock shows 1 800 000 000.
    static let rules: [(String, AuthorityError?)] = [
        (#""sub":"1","iss":"https://id.example","aud":"tool","exp":1800000060,"nonce":"n""#, nil),
        (#""sub":1,"iss":"https://id.example/","aud":["tool"],"exp":1800000060.5,"nonce":"n""#, nil),
        (#""sub":"1","iss":"https://id.example","aud":["tool","api"],"azp":"tool","exp":1800000060,"nonce":"n""#, nil),
        (#""sub":"1","iss":"https://id.example","aud":"tool","exp":1799999881,"nonce":"n""#, nil),
        (#""sub":"1","iss":"https://id.example","aud":"tool","exp":1799999880,"nonce":"n""#, .unclear("…")),
        (#""sub":"1","iss":"https://id.example","aud":"tool","nonce":"n""#, .unclear("…")),
        (#""sub":"1","iss":"https://id.example","aud":"tool","exp":"1800000060","nonce":"n""#, nil),
        (#""sub":"1","iss":"https://id.example","aud":"tool","exp":"1799999880","nonce":"n""#, .unclear("…")),
        (#""sub":"1","iss":"https://id.example","aud":"tool","exp":"soon","nonce":"n""#, .unclear("…")),
        (#""sub":"1","iss":"https://evil.example","aud":"tool","exp":1800000060,"nonce":"n""#, .misconfigured("…")),
        (#""sub":"1","aud":"tool","exp":1800000060,"nonce":"n""#, .misconfigured("…")),
        (#""sub":"1","iss":"https://id.example","aud":"other","exp":1800000060,"nonce":"n""#, .misconfigured("…")),
        (#""sub":"1","iss":"https://id.example","exp":1800000060,"nonce":"n""#, .misconfigured("…")),
        (#""sub":"1","iss":"https://id.example","aud":[],"exp":1800000060,"nonce":"n""#, .misconfigured("…")),
        (#""sub":"1","iss":"https://id.example","aud":["tool","api"],"exp":1800000060,"nonce":"n""#, nil),
        (#""sub":"1","iss":"https://id.example","aud":["api","tool"],"azp":null,"exp":1800000060,"nonce":"n""#, nil),
        (#""sub":"1","iss":"https://id.example","aud":["api",7],"exp":1800000060,"nonce":"n""#, .misconfigured("…")),
        (#""sub":"1","iss":"https://id.example","aud":{"a":"tool"},"exp":1800000060,"nonce":"n""#, .misconfigured("…")),
        (
            #""sub":"1","iss":"https://id.example","aud":["tool","api"],"azp":"api","exp":1800000060,"nonce":"n""#,
            .misconfigured("…")
        ),
        (#""sub":"1","iss":"https://id.example","aud":"tool","exp":1800000060,"nonce":"m""#, .unclear("…")),
        (#""sub":"1","iss":"https://id.example","aud":"tool","exp":1800000060"#, .unclear("…")),
        (#""iss":"https://id.example","aud":"tool","exp":1800000060,"nonce":"n""#, .unclear("…")),
    ]

    @Test("Accepts only an ID token that belongs to the same sign-in", arguments: rules)
    func check(_ claims: String, _ expected: AuthorityError?) throws {
        let token = try #require(IDToken(jsonWebToken("{\(claims)}")))
        let issuer = try Issuer("https://id.example")
        let thrown = failure {
            try token.check(issuer: issuer, clientID: "tool", nonce: "n", at: FixedClock().now)
        }
        #expect(kind(thrown) == expected)
    }

    @Test(arguments: ["7", #""7""#, "[7]", #"["api",7]"#])
    func `Reads a client ID that is a number among the audiences`(audiences: String) throws {
        let token = try #require(IDToken(jsonWebToken(#"{"aud":\#(audiences)}"#)))
        #expect(token.isMeant(for: "7") && !token.isMeant(for: "8"))
    }
}
