import HTTPTypes
import Testing

@testable import auth_server

@Suite("Browser flow")
struct AuthorizationRoutesTests {
    @Test("Browser sign-in redirects with a code that can be exchanged for tokens")
    func signsIn() async throws {
        try await TestServer().run { api in
            let flow = BrowserFlow()
            let back = try await flow.decide(api)
            #expect(back.status == 303)
            #expect(back.headers[.location]?.hasPrefix(BrowserFlow.callback + "?") == true)
            #expect(back.headers[.cacheControl] == "no-store")
            let parameters = try BrowserFlow.parameters(of: back)
            #expect(parameters["state"] == "s t&te")
            #expect(parameters["iss"] == "http://localhost")
            #expect(parameters["error"] == nil)

            let tokens = try await api.redeem(try #require(parameters["code"]))
            #expect(tokens.status == 200)
            #expect(tokens.headers[.cacheControl] == "no-store")
            #expect(tokens.json["scope"] == "openid email")
            #expect(try await api.userInfo(try tokens.string("access_token")).json["sub"] == "u-5f0c2a9b7d314e86")
            #expect(try await api.refresh(try tokens.string("refresh_token")).status == 200)
        }
    }

    @Test("The sign-in page escapes parameters and allows only needed content")
    func page() async throws {
        try await TestServer().run { api in
            let page = try await BrowserFlow().with(["state": #""><script>"#]).open(api)
            #expect(page.status == 200)
            #expect(page.headers[.contentType] == "text/html; charset=utf-8")
            #expect(page.body.contains("<title>Sign in to a program</title>"))
            #expect(page.body.contains(#"name="state" value="&quot;&gt;&lt;script&gt;""#))
            #expect(page.body.contains(#"name="code_challenge" value="\#(BrowserFlow.challenge)""#))
            #expect(page.body.contains(#"<form method="post" action="/oauth/authorize">"#))
            #expect(!page.body.contains("<script"))
            let policy = try #require(page.headers[.contentSecurityPolicy])
            #expect(policy.contains("default-src 'none'; form-action 'self' http://127.0.0.1:49152;"))
        }
    }

    @Test("The sign-in page ignores form fields in the client's request")
    func ownFields() async throws {
        try await TestServer().run { api in
            let page = try await BrowserFlow().with(["username": "mallory", "decision": "approve"]).open(api)
            #expect(page.status == 200)
            #expect(!page.body.contains("mallory"))
            #expect(page.body.split(separator: #"name="decision""#).count == 3)
        }
    }

    @Test("A wrong password shows the sign-in page again without the password")
    func refusesWrongPasswords() async throws {
        try await TestServer().run { api in
            let page = try await BrowserFlow().decide(api, password: "s3cret guess")
            #expect(page.status == 400)
            #expect(page.headers[.location] == nil)
            #expect(page.body.contains("The username or the password is wrong."))
            #expect(page.body.contains(#"name="nonce" value="n-0S6""#))
            #expect(page.body.contains(#"value="alice""#))
            #expect(!page.body.contains("s3cret guess"))
        }
    }

    @Test("Denying the request redirects without a code")
    func denies() async throws {
        try await TestServer().run { api in
            let back = try await BrowserFlow().decide(api, username: "", password: "", decision: "deny")
            #expect(back.status == 303)
            let parameters = try BrowserFlow.parameters(of: back)
            #expect(parameters["error"] == "access_denied")
            #expect(parameters["state"] == "s t&te")
            #expect(parameters["iss"] == "http://localhost")
            #expect(parameters["code"] == nil)
        }
    }

    @Test(
        "The authorization endpoint accepts any loopback port",
        arguments: [
            "http://127.0.0.1:1/callback", "http://[::1]:65535/callback", "http://localhost:8080/callback",
            "http://localhost/callback",
        ]
    )
    func acceptsLoopback(redirectURI: String) async throws {
        try await TestServer().run { api in
            let flow = BrowserFlow().with(["redirect_uri": redirectURI])
            #expect(try await flow.open(api).status == 200)
            let code = try await flow.code(api)
            #expect(try await api.redeem(code, redirectURI: redirectURI).status == 200)
        }
    }

    @Test(
        "An unknown client or redirect URI causes no redirect",
        arguments: [
            ["redirect_uri": "https://127.0.0.1:1/callback"], ["redirect_uri": "http://127.0.0.1:1/elsewhere"],
            ["redirect_uri": "http://127.0.0.1:1/callback?x=y"], ["redirect_uri": "http://127.0.0.1:1/callback#x"],
            ["redirect_uri": "http://evil.example/callback"], ["redirect_uri": "http://127.0.0.1:65536/callback"],
            ["redirect_uri": "http://127.0.0.1@evil.example/callback"], ["redirect_uri": nil],
            ["client_id": "someone-else"], ["client_id": nil],
        ] as [[String: String?]]
    )
    func staysHere(changes: [String: String?]) async throws {
        try await TestServer().run { api in
            let flow = BrowserFlow().with(changes)
            for response in [try await flow.open(api), try await flow.decide(api)] {
                #expect(response.status == 400)
                #expect(response.headers[.location] == nil)
                #expect(response.headers[.contentType] == "text/html; charset=utf-8")
                #expect(!response.body.contains("<form"))
            }
        }
    }

    @Test("A malformed request or a duplicate parameter shows an error page")
    func refusesMalformedRequests() async throws {
        try await TestServer().run { api in
            for query in ["", "?", "?client_id=account-cli&client_id=account-cli", "?%"] {
                let response = try await api.get("/oauth/authorize\(query)")
                #expect(response.status == 400)
                #expect(response.headers[.contentType] == "text/html; charset=utf-8")
            }
        }
    }

    @Test(
        "The authorization endpoint redirects other errors to the client",
        arguments: [
            (["response_type": "token"], "unsupported_response_type"), (["response_type": nil], "invalid_request"),
            (["code_challenge": nil], "invalid_request"), (["code_challenge": "short"], "invalid_request"),
            (["code_challenge_method": "plain"], "invalid_request"),
            (["code_challenge_method": nil], "invalid_request"), (["scope": "openid root"], "invalid_scope"),
            (["prompt": "none"], "login_required"),
        ] as [([String: String?], String)]
    )
    func sendsErrorsBack(changes: [String: String?], error: String) async throws {
        try await TestServer().run { api in
            let response = try await BrowserFlow().with(changes).open(api)
            #expect(response.status == 303)
            let parameters = try BrowserFlow.parameters(of: response)
            #expect(parameters["error"] == error)
            #expect(parameters["state"] == "s t&te")
            #expect(parameters["iss"] == "http://localhost")
        }
    }

    @Test("The redirect has no state if the client sent none")
    func omitsState() async throws {
        try await TestServer().run { api in
            let parameters = try await BrowserFlow.parameters(of: BrowserFlow().with(["state": nil]).decide(api))
            #expect(Set(parameters.keys) == ["code", "iss"])
        }
    }
}

@Suite("Authorization codes")
struct AuthorizationCodeTests {
    @Test("The second use of an authorization code ends the session")
    func detectsReuse() async throws {
        try await TestServer().run { api in
            let code = try await BrowserFlow().code(api)
            let other = try await api.signIn()
            let tokens = try await api.redeem(code)
            let again = try await api.redeem(code)
            #expect(again.status == 400)
            #expect(again.error == "invalid_grant")
            #expect(try await api.userInfo(try tokens.string("access_token")).status == 401)
            #expect(try await api.refresh(try tokens.string("refresh_token")).error == "invalid_grant")
            #expect(try await api.userInfo(other.access).status == 200)
        }
    }

    @Test("An authorization code expires after a minute")
    func expires() async throws {
        let test = try TestServer()
        try await test.run { api in
            let (first, second) = (try await BrowserFlow().code(api), try await BrowserFlow().code(api))
            test.clock.offset = 59
            #expect(try await api.redeem(first).status == 200)
            test.clock.offset = 60
            #expect(try await api.redeem(second).error == "invalid_grant")
        }
    }

    @Test("An authorization code requires the same redirect URI and the verifier")
    func checksTheClient() async throws {
        try await TestServer().run { api in
            let code = try await BrowserFlow().code(api)
            let elsewhere = "http://127.0.0.1:49153/callback"
            #expect(try await api.redeem(code, redirectURI: elsewhere).error == "invalid_grant")
            #expect(try await api.redeem(code, verifier: BrowserFlow.challenge).error == "invalid_grant")
            #expect(try await api.redeem("ac_made_up").error == "invalid_grant")
            let incomplete = try await api.form("/oauth/token", ["grant_type": "authorization_code", "code": code])
            #expect(incomplete.error == "invalid_request")
            #expect(try await api.redeem(code).status == 200)
        }
    }

    @Test("Unused and spent authorization codes survive a restart")
    func survivesRestart() async throws {
        try await withTemporaryDirectory { directory in
            let file = StateFile(path: directory + "/state.json")
            let code = Box()
            try await TestServer(file: file).run { api in await code.set(try await BrowserFlow().code(api)) }
            try await TestServer(file: file).run { api in
                let response = try await api.redeem(await code.text)
                #expect(response.status == 200)
            }
            try await TestServer(file: file).run { api in
                let response = try await api.redeem(await code.text)
                #expect(response.error == "invalid_grant")
            }
        }
    }
}

/// A value that a test passes from one run of the server to the next run.
private actor Box {
    private(set) var text = ""

    func set(_ text: String) { self.text = text }
}
