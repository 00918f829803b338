import AccountKit
import Foundation
import Synchronization
import Testing

@testable import AccountHTTP

@Suite("Browser sign-in")
struct BrowserSignInTests {
    private static let tokens = ["access-\(canary)", "refresh-\(canary)"]
    private static let code = "code-0123456789"

    /// The responses from the token and user info endpoints, set when the sign-in has begun and its nonce is known.
    private final class Service: Sendable {
        private let claims = Mutex("")

        func setClaims(_ text: String) { claims.withLock { $0 = text } }

        func answer(_ target: String) -> LoopbackServer.Action {
            if target != "/token" { return .json(#"{"sub":"1","preferred_username":"jane"}"#) }
            let claims = claims.withLock(\.self)
            let idToken = claims.isEmpty ? "" : #","id_token":"\#(jsonWebToken(claims).reveal())""#
            return .json(#"{"access_token":"\#(tokens[0])","refresh_token":"\#(tokens[1])"\#(idToken)}"#)
        }
    }

    /// Begins a sign-in, calls `browse` in the role of the browser, and waits for the end of the sign-in.
    ///
    /// - Returns: The result. The listener has closed by then, and no response contained a secret.
    private func signIn(
        service: Service = Service(), deliveryTime: Duration = .seconds(600),
        browse: (BrowserVisit, _ server: LoopbackServer) async throws -> [RawClient.Response]
    ) async throws -> Result<Account, any Error> {
        try await LoopbackServer.run { request, _ in
            service.answer(request.target)
        } _: { server in
            let signIn = try await OAuthAuthority.testBrowser(server.address)
                .beginBrowserSignIn(deliveryTime: deliveryTime)
            let visit = try BrowserVisit(signIn.url)
            let task = Task { try await signIn.run() }
            let responses: [RawClient.Response]
            do {
                responses = try await browse(visit, server)
            } catch {
                task.cancel()
                _ = await task.result
                throw error
            }
            let result = await task.result
            #expect(await !RawClient.isOpen(visit.port))
            #expect(await !RawClient.isOpen(visit.port, at: "::1"))
            var secrets = [Self.code, canary, visit.state]
            secrets += server.requests.compactMap { request in
                request.body.split(separator: "&").first { $0.hasPrefix("code_verifier=") }
                    .map { String($0.dropFirst(14)) }
            }
            let shown = responses.map(\.text).joined() + (result.failure.map { "\($0)" + String(reflecting: $0) } ?? "")
            for secret in secrets { #expect(!shown.contains(secret)) }
            return result
        }
    }

    private func claims(_ visit: BrowserVisit, _ server: LoopbackServer, nonce: String? = nil, exp: Int = 1_800_000_300)
        -> String
    {
        #"{"iss":"\#(server.address)","aud":"tool","sub":"1","exp":\#(exp),"nonce":"\#(nonce ?? visit.query["nonce"] ?? "")"}"#
    }

    // MARK: Other programs on the machine

    @Test(arguments: ["", "GET /done HTTP/1.1\r\n"])
    func `Accepts the browser's request despite idle connections`(start: String) async throws {
        let service = Service()
        let result = try await signIn(service: service) { visit, server in
            service.setClaims(claims(visit, server))
            var idle: [IdleConnection] = []
            for _ in 0..<80 { idle.append(try await IdleConnection.open(port: visit.port, sending: start)) }
            let redirect = try await visit.callBack("code=\(Self.code)")
            try #require(redirect.status == 303)
            let page = try await visit.result()
            #expect(page.status == 200)
            for connection in idle { try await connection.close() }
            return [redirect, page]
        }
        #expect(try result.get().id == "1")
    }

    // MARK: Successful

    @Test func `Exchanges the browser's code, returns the account, and shows the user`() async throws {
        let service = Service()
        let result = try await signIn(service: service) { visit, server in
            service.setClaims(claims(visit, server))
            #expect(visit.query["response_type"] == "code")
            #expect(visit.query["code_challenge_method"] == "S256")
            #expect(visit.query["redirect_uri"] == "http://127.0.0.1:\(visit.port)/callback")

            let redirect = try await visit.callBack("code=\(Self.code)")
            #expect(redirect.status == 303)
            #expect(redirect.value(of: "Location") == "/done")
            #expect(redirect.value(of: "Cache-Control") == "no-store")
            #expect(redirect.value(of: "Referrer-Policy") == "no-referrer")
            #expect(redirect.body.isEmpty)

            let page = try await visit.result()
            #expect(page.status == 200)
            #expect(page.body.contains("Signed in as <strong>jane</strong> at \(server.address)."))
            #expect(page.value(of: "Content-Type") == "text/html; charset=utf-8")
            let policy = try #require(page.value(of: "Content-Security-Policy"))
            #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"))
            #expect(page.value(of: "Cache-Control") == "no-store")
            #expect(page.value(of: "Referrer-Policy") == "no-referrer")
            #expect(page.value(of: "X-Content-Type-Options") == "nosniff")
            #expect(page.value(of: "Connection") == "close")
            #expect(page.value(of: "Set-Cookie") == nil)

            #expect(server.targets == ["/token", "/userinfo"])
            let form = try #require(URLComponents(string: "?" + (server.requests.first?.body ?? ""))?.queryItems)
            #expect(form.map(\.name) == ["grant_type", "code", "redirect_uri", "code_verifier", "client_id"])
            #expect(form[0].value == "authorization_code")
            #expect(form[1].value == Self.code)
            #expect(form[2].value == visit.query["redirect_uri"])
            #expect(PKCE(verifier: Secret(form[3].value ?? "")).challenge == visit.query["code_challenge"])
            #expect(form[4].value == "tool")
            return [redirect, page]
        }
        let account = try result.get()
        #expect(account.id == "1")
        #expect(account.username == "jane")
        #expect(account.credentials.accessToken == Secret(Self.tokens[0]))
        #expect(account.credentials.refreshToken == Secret(Self.tokens[1]))
        #expect(account.credentials.clientID == "tool")
    }

    @Test("Returns the account even if the browser requests no result page")
    func noDelivery() async throws {
        let result = try await signIn(deliveryTime: .zero) { visit, _ in
            [try await visit.callBack("code=\(Self.code)")]
        }
        #expect(try result.get().id == "1")
    }

    // MARK: Refused or failed

    @Test("Rejects an ID token that is expired, invalid or for another client", arguments: ["nonce", "exp", "form"])
    func wrongIDToken(_ flaw: String) async throws {
        let service = Service()
        let result = try await signIn(service: service) { visit, server in
            switch flaw {
            case "nonce": service.setClaims(claims(visit, server, nonce: "other"))
            case "exp": service.setClaims(claims(visit, server, exp: 1_799_990_000))
            default: service.setClaims("no JSON")
            }
            let redirect = try await visit.callBack("code=\(Self.code)")
            let page = try await visit.result()
            #expect(page.body.contains("The sign-in failed"))
            #expect(server.targets == ["/token"])
            return [redirect, page]
        }
        #expect(kind(result.signal) == .unclear("…"))
    }

    // MARK: Requests that do not end the wait

    @Test("Rejects other requests and continues to wait for the right response")
    func noise() async throws {
        let result = try await signIn { visit, server in
            let port = visit.port
            let right = "/callback?code=\(Self.code)&state=\(visit.state)"
            var responses = [
                try await visit.callBack("code=\(Self.code)", state: "wrong"),
                try await RawClient.get("/", port: port),
                try await RawClient.get(right, port: port, method: "POST"),
                try await RawClient.get(right, port: port, host: "evil.example:\(port)"),
                try await RawClient.send("\u{16}\u{3}\u{1} no HTTP\r\n\r\n", port: port),
                try await RawClient.send(
                    "GET \(right) HTTP/1.1\r\nHost: localhost:\(port)\r\nX: \(String(repeating: "x", count: 200_000))\r\n\r\n",
                    port: port),
            ]
            #expect(responses.map(\.status) == [400, 404, 400, 400, 400, 400])
            #expect(responses[0].body.contains("Wrong state"))
            #expect(server.requests.isEmpty)

            responses.append(try await RawClient.get(right, port: port, host: "localhost:\(port)"))
            #expect(responses.last?.status == 303)
            responses.append(try await visit.callBack("code=other"))
            #expect(responses.last?.status == 400)
            #expect(responses.last?.body.contains("already used") == true)
            responses.append(try await visit.result())
            #expect(server.targets.filter { $0 == "/token" }.count == 1)
            return responses
        }
        #expect(try result.get().id == "1")
    }

    /// The lengths of the lines of cookies that other programs on `localhost` have set.
    @Test(arguments: [[16_400], [32_768], [65_536], [40_000, 40_000]])
    func `Accepts the browser's request with many cookies`(lengths: [Int]) async throws {
        let result = try await signIn { visit, _ in
            let cookies = lengths.map { "Cookie: c=\(String(repeating: "x", count: $0))\r\n" }.joined()
            let redirect = try await RawClient.send(
                "GET /callback?code=\(Self.code)&state=\(visit.state) HTTP/1.1\r\nHost: localhost:\(visit.port)\r\n\(cookies)\r\n",
                port: visit.port)
            #expect(redirect.status == 303)
            return [redirect, try await visit.result()]
        }
        #expect(try result.get().id == "1")
    }

    @Test("Listens for the browser only on the two loopback addresses")
    func addresses() async throws {
        let result = try await signIn { visit, _ in
            let redirect: RawClient.Response
            if await RawClient.isOpen(visit.port, at: "::1") {
                redirect = try await RawClient.get(
                    "/callback?code=\(Self.code)&state=\(visit.state)", port: visit.port, host: "[::1]:\(visit.port)",
                    at: "::1")
            } else {
                redirect = try await visit.callBack("code=\(Self.code)")
            }
            #expect(redirect.status == 303)
            #expect(await !RawClient.isOpen(visit.port, at: "127.0.0.2"))
            return [redirect, try await visit.result()]
        }
        #expect(try result.get().id == "1")
    }

    // MARK: The end of listening

    @Test("Ends the wait for the browser and closes the port on cancellation")
    func cancelled() async throws {
        let signIn = try await OAuthAuthority.testBrowser("http://127.0.0.1:1").beginBrowserSignIn()
        let visit = try BrowserVisit(signIn.url)
        let task = Task { try await signIn.run() }
        #expect(try await visit.callBack("code=a", state: "wrong").status == 400)
        task.cancel()
        #expect(await task.result.signal == .noResponse(.cancelled))
        #expect(await !RawClient.isOpen(visit.port))
    }

    @Test("Ends the wait for the browser and closes the port on a timeout")
    func nobodyCame() async throws {
        let signIn = try await OAuthAuthority.testBrowser("http://127.0.0.1:1")
            .beginBrowserSignIn(deliveryTime: .zero, lifetime: .milliseconds(50))
        let visit = try BrowserVisit(signIn.url)
        let error = await #expect(throws: AccountError.self) { try await signIn.run() }
        #expect(error?.code == .signInRefused)
        #expect(error?.message == "the sign-in was not finished in the browser within 50 ms")
        #expect(await !RawClient.isOpen(visit.port))
    }

    // MARK: Step by step

    @Test("Exchanges the code once, and allows a retry of the user request")
    func steps() async throws {
        let asked = Counter()
        try await LoopbackServer.run { request, _ in
            if request.target == "/token" { return .json(#"{"access_token":"\#(Self.tokens[0])"}"#) }
            return asked.next() <= 2 ? .response(503) : .json(#"{"sub":"1"}"#)
        } _: { server in
            let signIn = try await OAuthAuthority.testBrowser(server.address).beginBrowserSignIn(
                deliveryTime: .seconds(60))
            #expect(kind(await asyncFailure { try await signIn.credentials() }) == .unclear("…"), "no code yet")
            let visit = try BrowserVisit(signIn.url)
            let wait = Task { try await signIn.waitForResponse() }
            try #require(await visit.callBack("code=\(Self.code)").status == 303)
            try await wait.value
            #expect(server.requests.isEmpty)
            // The page waits for the result.
            let page = Task { try await visit.result() }
            let credentials = try await signIn.credentials()
            #expect(kind(await asyncFailure { try await signIn.credentials() }) == .unclear("…"), "it is spent")
            #expect(
                await asyncFailure { try await signIn.account(with: credentials) }
                    == .unavailable(status: 503, retryAfter: nil))
            let account = try await signIn.account(with: credentials)
            await signIn.finish(with: .success(account))
            #expect(try await page.value.body.contains("You are signed in"))
            #expect(server.targets.filter { $0 == "/token" }.count == 1)
        }
    }

    // MARK: Released

    @Test("Stops listening when the sign-in object is released")
    func dropped() async throws {
        var signIn: (any BrowserSignIn)? = try await OAuthAuthority.testBrowser("http://127.0.0.1:1")
            .beginBrowserSignIn()
        let port = try BrowserVisit(try #require(signIn).url).port
        #expect(await RawClient.isOpen(port))
        signIn = nil
        var isOpen = true
        let deadline = ContinuousClock.now + .seconds(180)
        while isOpen, .now < deadline { isOpen = await RawClient.isOpen(port) }
        #expect(!isOpen)
    }

    @Test("Waits for an authorization response only once")
    func twice() async throws {
        let signIn = try await OAuthAuthority.testBrowser("http://127.0.0.1:1").beginBrowserSignIn()
        let task = Task { try await signIn.run() }
        task.cancel()
        _ = await task.result
        #expect(kind(await asyncFailure { try await signIn.run() }) == .unclear("…"))
    }

    // MARK: The service's metadata

    @Test("Requires an authorization endpoint for a browser sign-in")
    func noEndpoint() async throws {
        let authority = try OAuthAuthority.test(
            "http://127.0.0.1:1", endpoints: OAuthEndpoints(token: "http://127.0.0.1:1/token"))
        #expect(kind(await asyncFailure { try await authority.beginBrowserSignIn() }) == .misconfigured("…"))
    }

    @Test("Requires the iss parameter if the service announces the parameter", arguments: [true, false])
    func issuer(_ isNamed: Bool) async throws {
        try await LoopbackServer.run { request, address in
            switch request.target {
            case "/token": .json(#"{"access_token":"\#(Self.tokens[0])"}"#)
            case "/userinfo": .json(#"{"sub":"1"}"#)
            default:
                .json(
                    #"""
                    {"issuer":"\#(address)","token_endpoint":"\#(address)/token","userinfo_endpoint":"\#(address)/userinfo",
                     "authorization_endpoint":"\#(address)/authorize","authorization_response_iss_parameter_supported":true}
                    """#)
            }
        } _: { server in
            let signIn = try await OAuthAuthority.test(server.address).beginBrowserSignIn(deliveryTime: .seconds(600))
            let visit = try BrowserVisit(signIn.url)
            let task = Task { try await signIn.run() }
            let issuer = isNamed ? "&iss=\(server.address)" : ""
            try #require(await visit.callBack("code=\(Self.code)\(issuer)").status == 303)
            let page = try await visit.result()
            #expect(page.body.contains(isNamed ? "Signed in as" : "does not name the issuer"))
            #expect(kind(await task.result.signal) == (isNamed ? nil : .unclear("…")))
            #expect(server.targets.contains("/token") == isNamed)
        }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }

    fileprivate var signal: AuthorityError? { failure as? AuthorityError }
}
