import AccountKit
import AccountTesting
import FoundationEssentials
import HTTPTypes
import Synchronization
import Testing

@testable import AccountHTTP

/// What the client sends, and when it asks the store for another token. The tests of AccountKit cover how the store
/// obtains and shares tokens.
@Suite("The API client")
struct AuthenticatedClientTests {
    private static let refusal = LoopbackServer.Action.response(
        401, ["WWW-Authenticate": #"Bearer realm="api", error="invalid_token""#])

    /// A client of `server` for alice, whose token was issued an hour ago.
    func client(
        _ server: LoopbackServer, _ authority: ScriptedAuthority, signedIn account: Account? = old
    ) async throws -> (client: AuthenticatedClient, store: AccountStore) {
        let store = try await AccountStore.inMemory(signedIn: account)
        let client = try AuthenticatedClient(
            origin: server.address, store: store, authority: authority, timeout: .seconds(20))
        return (client, store)
    }

    static let now = ManualClock().now
    static let old = Account.testing(at: now.addingTimeInterval(-3600), expiringIn: .seconds(7200))

    /// A service that accepts only these tokens.
    func taking(_ tokens: String...) -> @Sendable (LoopbackServer.Request, String) -> LoopbackServer.Action {
        { request, _ in
            tokens.contains { request.headers["authorization"] == "Bearer \($0)" }
                ? .json(#"{"ok":true}"#) : Self.refusal
        }
    }

    /// A task may be cancelled before its request begins, while it connects, or while it waits for the response.
    @Test(arguments: [nil, .connection, .sent] as [AuthorityError.Failure.Stage?])
    func `Reports a cancellation at every stage of a request`(stage: AuthorityError.Failure.Stage?) {
        let failure = AuthorityError.noResponse(.init(.cancelled, stage: stage))
        #expect(AccountError(request: failure, to: "https://api.example.com").code == .cancelled)
    }

    // MARK: The token

    @Test("Sends an API request with the token, the header fields and the body")
    func request() async throws {
        try await LoopbackServer.run { _, _ in
            .json(#"{"name":"x"}"#, status: 201)
        } _: { server in
            let (client, _) = try await client(server, ScriptedAuthority())
            let trace = try #require(HTTPField.Name("X-Trace"))
            let request = HTTPRequest(
                method: .put, scheme: nil, authority: nil, path: "/gists?page=2",
                headerFields: [.contentType: "application/json", trace: "7"])
            let response = try await client.send(request, body: Data(#"{"a":1}"#.utf8))
            #expect(response.head.status == .created)
            #expect(response.head.headerFields[.contentType] == "application/json")
            #expect(try response.decoded(as: [String: String].self) == ["name": "x"])

            let sent = try #require(server.requests.first)
            #expect(sent.method == "PUT")
            #expect(sent.target == "/gists?page=2")
            #expect(sent.body == #"{"a":1}"#)
            #expect(sent.headers["authorization"] == "Bearer access-1")
            #expect(sent.headers["x-trace"] == "7")
            #expect(sent.headers["content-type"] == "application/json")
            #expect(sent.headers["user-agent"]?.hasPrefix("AccountKit/") == true)
        }
    }

    @Test("Refreshes a refused token and resends the request with its body once")
    func refused() async throws {
        try await LoopbackServer.run(answer: taking("access-2")) { server in
            let authority = ScriptedAuthority()
            let (client, store) = try await client(server, authority)
            #expect(try await client.post("/x", "hello").head.status == 200)
            #expect(authority.requests == [.refresh])
            #expect(server.requests.map(\.body) == [#""hello""#, #""hello""#])
            #expect(store.account?.credentials.accessToken == Secret("access-2"))
        }
    }

    @Test func `Spends no second refresh token if the API refuses the new token too`() async throws {
        try await LoopbackServer.run(answer: taking()) { server in
            let authority = ScriptedAuthority()
            let (client, store) = try await client(server, authority)
            #expect(try await client.get("/").head.status == 401)
            #expect(server.requests.count == 2)
            for _ in 1...3 { #expect(try await client.get("/").head.status == 401) }
            #expect(authority.requests == [.refresh])
            #expect(store.account != nil)
        }
    }

    enum Way: CaseIterable { case send, stream, authorize }

    @Test(arguments: Way.allCases)
    func `Never sends a request with the token of a user who signs in later`(way: Way) async throws {
        try await LoopbackServer.run { _, _ in
            .json(#"{"ok":true}"#)
        } _: { server in
            let authority = ScriptedAuthority(refresh: [.hang])
            let account = Account.testing(at: Self.now.addingTimeInterval(-3570), expiringIn: .seconds(3600))
            let (client, store) = try await client(server, authority, signedIn: account)
            let request = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/notes")
            let response = Task {
                switch way {
                case .send: _ = try await client.send(request, body: Data("alice's".utf8))
                case .stream: _ = try await client.stream(request) { _, _ in }
                case .authorize:
                    _ = try await client.authorize(
                        request, at: #require(URL(string: server.address)), canBeRepeated: true
                    ) { _ in
                        Issue.record("the request was sent")
                        return (HTTPResponse(status: .ok), "")
                    } reading: {
                        (Data(), $0)
                    }
                }
            }
            await authority.waitForRequest(.refresh)
            var bob = Account.testing(id: "bob", at: Self.now)
            bob.credentials.accessToken = Secret("bob-access")
            try await store.signIn { [bob] in bob }
            authority.release()
            await expectAccountError(.conflict) { try await response.value }
            #expect(server.requests.isEmpty)
            #expect(try await client.get("/").head.status == .ok)
            #expect(server.requests.map { $0.headers["authorization"] } == ["Bearer bob-access"])
        }
    }

    // MARK: Requests of other programs

    private static func forward(
        to server: LoopbackServer, _ store: AccountStore, allowing tokens: String...
    ) async throws -> Int {
        let authority = try OAuthAuthority.test(server.address, endpoints: .all(at: server.address))
        let request = ForwardedRequest(method: "GET", url: server.address + "/mcp")
        let allowed = store.requestTokens(with: authority) { account throws(AccountError) in
            guard tokens.contains(account.credentials.accessToken.reveal()) else {
                throw AccountError(.misconfigured, "not for this URL")
            }
        }
        return try await authority.forward(request, with: allowed).status
    }

    static func account(at server: LoopbackServer) -> Account {
        var account = Account.testing(at: now.addingTimeInterval(-3600), expiringIn: .seconds(7200))
        account.issuer = server.address
        return account
    }

    @Test func `Forwards no request with the token of a sign-in for another API`() async throws {
        try await LoopbackServer.run { _, _ in
            .json(#"{"ok":true}"#)
        } _: { server in
            let store = try await AccountStore.inMemory(signedIn: Self.account(at: server))
            #expect(try await Self.forward(to: server, store, allowing: "access-1") == 200)
            // Another sign-in replaces the account after the caller has checked it.
            var other = Self.account(at: server)
            other.credentials.accessToken = Secret("other")
            try await store.signIn { [other] in other }
            await expectAccountError(.misconfigured) {
                try await Self.forward(to: server, store, allowing: "access-1")
            }
            #expect(server.requests.map { $0.headers["authorization"] } == ["Bearer access-1"])
        }
    }

    @Test func `Forwards no request again with a token that must not be sent`() async throws {
        try await LoopbackServer.run { request, _ in
            request.target == "/token"
                ? .json(#"{"access_token":"access-2","token_type":"Bearer","expires_in":3600}"#) : Self.refusal
        } _: { server in
            let store = try await AccountStore.inMemory(signedIn: Self.account(at: server))
            await expectAccountError(.misconfigured) {
                try await Self.forward(to: server, store, allowing: "access-1")
            }
            #expect(server.requests.map(\.target) == ["/mcp", "/token"])
        }
    }

    // MARK: Responses that end a session, and others

    private static let refusals: [LoopbackServer.Action] = [
        .response(401), .response(401, ["WWW-Authenticate": "Basic realm=x"]),
        .response(401, ["WWW-Authenticate": "Bearer"]), .response(401, ["WWW-Authenticate": "Bearer realm=x"]),
        .response(401, ["WWW-Authenticate": #"Bearer error="invalid_request""#]),
        .response(401, ["WWW-Authenticate": #"Bearer error="expired_token""#]),
        .response(401, ["WWW-Authenticate": #"Bearer error="invalid_token", Bearer error="invalid_request""#]),
        .response(401, ["WWW-Authenticate": #"Bearer resource_metadata="https://api.example.com/.well-known/x""#]),
        .response(401, ["WWW-Authenticate": "not a challenge ="]),
        .json(#"{"message":"Bad credentials"}"#, status: 401),
        .json(#"{"error":"invalid_token"}"#, status: 401), .json(#"{"code":401}"#, status: 401),
        .response(401, ["Content-Type": "text/html"], "<h1>401</h1>"),
    ]

    /// Responses of APIs that send another status for an invalid token.
    private static let otherRefusals: [LoopbackServer.Action] = [400, 403].flatMap { status in
        [
            .response(status, ["WWW-Authenticate": #"Bearer realm="x", error="invalid_token""#]),
            .response(status, ["WWW-Authenticate": "Basic realm=x, bearer ERROR=invalid_token"]),
            .json(#"{"error":"invalid_token","error_description":"expired"}"#, status: status),
        ]
    }

    @Test(arguments: [400, 403])
    func `Returns a 400 or 403 that does not call the token invalid`(status: Int) async throws {
        let responses: [LoopbackServer.Action] = [
            .response(status), .response(status, ["WWW-Authenticate": "Bearer"]),
            .response(status, ["WWW-Authenticate": #"Bearer error="invalid_request""#]),
            .json(#"{"error":"invalid_grant"}"#, status: status),
            .json(#"{"message":"invalid_token"}"#, status: status),
        ]
        for response in responses {
            try await LoopbackServer.run { _, _ in
                response
            } _: { server in
                let authority = ScriptedAuthority()
                let (client, _) = try await client(server, authority, signedIn: .testing(at: Self.now))
                #expect(try await client.get("/").head.status.code == status)
                #expect(authority.requests.isEmpty)
            }
        }
    }

    private static let anyRefusals: [LoopbackServer.Action] = refusals + otherRefusals

    @Test(arguments: anyRefusals)
    func `Refreshes once after a refusal of any form`(refusal: LoopbackServer.Action) async throws {
        try await LoopbackServer.run { request, _ in
            request.headers["authorization"] == "Bearer access-2" ? .json("{}") : refusal
        } _: { server in
            let authority = ScriptedAuthority()
            // A token that was issued a moment ago, for example before a restart of the API.
            let (client, store) = try await client(server, authority, signedIn: .testing(at: Self.now))
            #expect(try await client.post("/x", "hello").head.status == 200)
            #expect(authority.requests == [.refresh])
            #expect(server.requests.map(\.body) == [#""hello""#, #""hello""#])
            #expect(store.account?.credentials.accessToken == Secret("access-2"))
        }
    }

    @Test func `Returns the 401 if the API refuses the new token too`() async throws {
        for refusal in Self.refusals {
            try await LoopbackServer.run { _, _ in
                refusal
            } _: { server in
                let authority = ScriptedAuthority()
                let (client, store) = try await client(server, authority, signedIn: .testing(at: Self.now))
                for _ in 1...3 { #expect(try await client.get("/").head.status == 401) }
                #expect(server.requests.count == 4)
                #expect(authority.requests == [.refresh])
                #expect(store.account != nil)
            }
        }
    }

    @Test func `Refreshes after each restart of an API that then accepts the token`() async throws {
        let accepted = Mutex("access-2")
        try await LoopbackServer.run { request, _ in
            request.headers["authorization"] == "Bearer " + accepted.withLock { $0 } ? .json("{}") : .response(401)
        } _: { server in
            let authority = ScriptedAuthority()
            let (client, _) = try await client(server, authority, signedIn: .testing(at: Self.now))
            for number in 2...4 {
                accepted.withLock { $0 = "access-\(number)" }
                for _ in 1...2 { #expect(try await client.get("/").head.status == 200) }
            }
            #expect(authority.requests == [.refresh, .refresh, .refresh])
        }
    }

    @Test(arguments: ["use_dpop_nonce", "invalid_dpop_proof"])
    func `Refreshes no token after a 401 about the proof`(error: String) async throws {
        try await LoopbackServer.run { _, _ in
            .response(401, ["WWW-Authenticate": "Bearer error=\"\(error)\""])
        } _: { server in
            let authority = ScriptedAuthority()
            let (client, _) = try await client(server, authority)
            #expect(try await client.get("/").head.status == 401)
            #expect(authority.requests.isEmpty)
        }
    }

    @Test(
        "Returns other API refusals to the app without a refresh",
        arguments: [
            LoopbackServer.Action.response(403, ["WWW-Authenticate": "Bearer realm=x"]), .response(500), .response(404),
            .response(302, ["Location": "https://elsewhere.example/"]),
        ])
    func otherRefusals(_ action: LoopbackServer.Action) async throws {
        try await LoopbackServer.run { _, _ in
            action
        } _: { server in
            let authority = ScriptedAuthority()
            let (client, store) = try await client(server, authority)
            #expect(try await client.get("/").head.status != 200)
            #expect(server.requests.count == 1)
            #expect(authority.requests.isEmpty)
            #expect(store.account != nil)
        }
    }

    // MARK: Responses of another server, and in another form

    private static let page = "<!DOCTYPE html><title>Wi-Fi</title>"

    @Test(arguments: [
        LoopbackServer.Action.response(200, ["Content-Type": "text/html"], page), .response(200, [:], " \n" + page),
        .response(203, ["Content-Type": "text/html; charset=utf-8"], page), .response(511),
        .response(511, ["Content-Type": "text/html"], page), .response(404, ["Content-Type": "text/html"], page),
        .response(403, ["Content-Type": "application/xhtml+xml"], page),
        .response(302, ["Location": "https://portal.example/login"]),
        .response(307, ["Location": "http://portal.example/"]),
        .response(303, ["Location": "//portal.example/"]),
    ])
    func `Reports another server that responds instead of the API`(action: LoopbackServer.Action) async throws {
        try await LoopbackServer.run { _, _ in
            action
        } _: { server in
            let (client, store) = try await client(server, ScriptedAuthority())
            let error = await #expect(throws: AccountError.self) {
                let _: [String: String] = try await client.get("/").decoded()
            }
            #expect(error?.code == .serviceUnavailable, "\(String(describing: error))")
            #expect(error?.message.contains("another server responded instead of \(server.address)") == true)
            #expect(store.account != nil)
        }
    }

    @Test func `Returns web pages that the app asks for, and those of a gateway`() async throws {
        try await LoopbackServer.run { request, _ in
            request.target == "/502"
                ? .response(502, ["Content-Type": "text/html"], Self.page)
                : .response(200, ["Content-Type": "text/html"], Self.page)
        } _: { server in
            let (client, _) = try await client(server, ScriptedAuthority())
            let request = HTTPRequest(
                method: .get, scheme: nil, authority: nil, path: "/", headerFields: [.accept: "text/html"])
            #expect(try await client.send(request).body == Data(Self.page.utf8))
            let error = await #expect(throws: AccountError.self) {
                let _: [String] = try await client.get("/502").decoded()
            }
            #expect(error?.code == .serviceUnavailable && error?.message.contains("status 502") == true)
        }
    }

    struct Note: Decodable {
        let id: Int
        let tags: [String]
    }

    @Test(arguments: [
        ("", "it is not JSON"), ("{", "it is not JSON"), ("canary", "it is not JSON"), ("[]", "another type"),
        (#"{"id":1}"#, "tags is missing"), (#"{"id":"canary","tags":[]}"#, "id has another type"),
        (#"{"id":null,"tags":[]}"#, "id "), (#"{"id":1,"tags":["a",7]}"#, "tags.[1] has another type"),
        (#"{"id":1.5,"tags":[]}"#, "a number that does not fit"),
    ])
    func `Names the API if its JSON has another form`(body: String, flaw: String) async throws {
        try await LoopbackServer.run { _, _ in
            .json(body)
        } _: { server in
            let (client, _) = try await client(server, ScriptedAuthority())
            let response = try await client.get("/notes")
            let error = #expect(throws: AccountError.self) { try response.decoded(as: Note.self) }
            #expect(error?.code == .requestRefused)
            let text = error?.description ?? ""
            #expect(text.contains(server.address) && text.contains(flaw) && !text.contains("canary"), "\(text)")
        }
    }

    @Test("Checks a refused token with the authority if no refresh token exists", arguments: [true, false])
    func withoutRefreshToken(_ hasEnded: Bool) async throws {
        try await LoopbackServer.run(answer: taking()) { server in
            let authority = ScriptedAuthority(
                verify: [hasEnded ? .refuse(.unauthorized(error: "invalid_token")) : .accept])
            let account = Account.testing(at: Self.now, hasRefreshToken: false)
            let (client, store) = try await client(server, authority, signedIn: account)
            if hasEnded {
                await expectAccountError(.notSignedIn) { try await client.get("/") }
            } else {
                #expect(try await client.get("/").head.status == 401)
            }
            #expect((store.account == nil) == hasEnded)
            #expect(authority.requests == [.verify])
        }
    }
}
