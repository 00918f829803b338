import AccountKit
import Testing

@testable import AccountHTTP

@Suite("Authorization responses")
struct AuthorizationResponseTests {
    @Test("Decodes the known parameters of an authorization response")
    func parameters() throws {
        let response = try #require(
            AuthorizationResponse(
                query: "code=a%2Fb+c&state=%c3%A4&iss=https%3A%2F%2Fid.example&session_state=1&session_state=2&x"))
        #expect(response.code == Secret("a/b c"))
        #expect(response.state == "ä")
        #expect(response.issuer == "https://id.example")
        #expect(response.error == nil)
    }

    @Test(
        "Treats a response parameter without a value as missing",
        arguments: ["code=&state", "", "&&", "=", "Code=1"])
    func empty(_ query: String) throws {
        let response = try #require(AuthorizationResponse(query: query[...]))
        #expect(response.code == nil)
        #expect(response.state == nil)
        #expect(!response.answers(""))
    }

    @Test(
        "Rejects an authorization response with a malformed query",
        arguments: [
            "code=a&code=b", "state=s&state=s", "code=a&co%64e=b", "code=%", "code=%4", "code=%zz", "code=%FF",
            "code=%+1", "%=1", "code=&code=a",
        ])
    func malformed(_ query: String) {
        #expect(AuthorizationResponse(query: query[...]) == nil)
    }

    @Test(
        "Matches an authorization response by its state",
        arguments: [("abc", true), ("abC", false), ("ab", false), ("", false)])
    func state(_ state: String, _ isAnswer: Bool) throws {
        #expect(try #require(AuthorizationResponse(query: "code=1&state=\(state)")).answers("abc") == isAnswer)
    }

    // MARK: Outcome

    private func outcome(_ query: String, namingIssuer: Bool = false) throws -> Secret {
        try #require(AuthorizationResponse(query: query[...])).code(
            from: Issuer("https://id.example"), namingIssuer: namingIssuer, hiding: [Secret(canary)])
    }

    @Test(
        "Rejects a response with a wrong issuer or without a required issuer",
        arguments: [
            ("code=c", false, true), ("code=c", true, false),
            ("code=c&iss=https://id.example", false, true), ("code=c&iss=https://id.example", true, true),
            ("code=c&iss=https://id.example/", true, true),
            ("code=c&iss=https://evil.example", false, false), ("code=c&iss=https://evil.example", true, false),
            ("code=c&iss=https://id.example.evil.example", true, false), ("code=c&iss=", true, false),
            ("code=c&iss=https://ID.example", false, true),
            ("code=c&iss=https://id.example:443/", true, true), ("code=c&iss=https://id.example/a", true, false),
        ])
    func issuer(_ query: String, _ namesIssuer: Bool, _ isAccepted: Bool) throws {
        let thrown = failure { try outcome(query, namingIssuer: namesIssuer) }
        #expect(kind(thrown) == (isAccepted ? nil : .unclear("…")))
        if isAccepted { #expect(try outcome(query, namingIssuer: namesIssuer) == Secret("c")) }
    }

    @Test func `Accepts only the exact path of an issuer that an API names`() throws {
        for (issuer, accepted) in [
            ("https://id.example", ["https://id.example", "https://id.example/", "https://ID.example:443"]),
            ("https://id.example/a", ["https://id.example/a", "HTTPS://ID.example/a"]),
            ("https://id.example/a/", ["https://id.example/a/"]),
        ] {
            let named = Issuer(try Issuer(issuer).url, form: .verbatim(issuer))
            let others = ["https://id.example/b", "https://id.example:8443", "https://evil.example"]
            for text in ["https://id.example/a", "https://id.example/a/", issuer + "//"] + accepted + others {
                let response = try #require(AuthorizationResponse(query: "code=c&iss=\(text)"))
                let thrown = failure { try response.code(from: named, namingIssuer: true, hiding: []) }
                #expect(kind(thrown) == (accepted.contains(text) ? nil : .unclear("…")), "\(text)")
            }
        }
    }

    @Test(
        "Reports an authorization error with a sanitized description",
        arguments: [
            ("error=access_denied", .oauthError("access_denied")),
            ("error=access_denied&code=c", .oauthError("access_denied")),
            (
                "error=access_denied&error_description=No%1B%5B31m+thanks%0A%E2%80%AE!",
                .oauthError("access_denied", description: "No[31m thanks !")
            ),
            ("error=server_error&error_description=\(canary)", .oauthError("server_error")),
            ("error=login_required", .oauthError("login_required")),
            ("error=%22", .unclear("…")), ("error=\(canary)", .unclear("…")),
            ("error=access_denied&iss=https://evil.example", .unclear("…")), ("state=s", .unclear("…")),
        ] as [(String, AuthorityError)])
    func errors(_ query: String, _ expected: AuthorityError) {
        let thrown = failure { try outcome(query) }
        if case .unclear = expected {
            #expect(kind(thrown) == expected)
        } else {
            #expect(thrown == expected)
        }
        #expect(!String(reflecting: thrown).contains(canary))
    }

    @Test("Hides the authorization code that accompanies an error")
    func errorWithCode() {
        let thrown = failure { try outcome("code=SECRETCODE&error=x&error_description=SECRETCODE") }
        #expect(thrown == .oauthError("x"))
    }
}
