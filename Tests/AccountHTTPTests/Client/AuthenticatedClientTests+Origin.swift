import AccountKit
import AccountTesting
import FoundationEssentials
import HTTPTypes
import Synchronization
import Testing

@testable import AccountHTTP

/// Where the client sends the token, and what it accepts in requests.
extension AuthenticatedClientTests {
    @Test(arguments: [
        "https://elsewhere.example/", "//elsewhere.example/", "http://127.0.0.1:1/", "https://127.0.0.1/",
        "@elsewhere.example/", ":8080/", "\\\\elsewhere.example", "/\\elsewhere.example", "", "gists",
        "http://localhost/", "http://user@127.0.0.1/", "/a b", "/a\r\nX: y", "/#fragment",
    ])
    func `Sends the access token to no other origin`(address: String) async throws {
        try await LoopbackServer.run(answer: taking("access-1")) { server in
            let (client, _) = try await client(server, ScriptedAuthority())
            await expectAccountError(.invalidArgument) { try await client.get(address) }
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `Gets a linked file from another origin without the token`() async throws {
        try await LoopbackServer.run(answer: taking("access-1")) { server in
            let (client, _) = try await client(server, ScriptedAuthority())
            try await LoopbackServer.run(answer: { _, _ in .json("{}") }) { files async throws in
                #expect(try await client.get(link: files.address + "/a?b=c").head.status == 200)
                #expect(files.requests.map(\.target) == ["/a?b=c"])
                #expect(files.requests.allSatisfy { $0.headers["authorization"] == nil && $0.headers["dpop"] == nil })
            }
            #expect(server.requests.isEmpty)
            for link in ["/x", server.address + "/x"] {
                #expect(try await client.get(link: link).head.status == 200)
            }
            #expect(server.requests.allSatisfy { $0.headers["authorization"] == "Bearer access-1" })
        }
    }

    @Test(arguments: [
        "http://127.0.0.1:1/a", "http://example.com/a", "ftp://example.com/a", "file:///etc/passwd", "//example.com/a",
        "https://user:secret@example.com/a", "javascript:x", "", "a b",
    ])
    func `Sends no request to a link that may not be followed`(link: String) async throws {
        let transport = ScriptedTransport([.json("{}")])
        let client = try AuthenticatedClient(
            origin: "https://api.example.com", store: try await .inMemory(signedIn: Self.old),
            authority: ScriptedAuthority(), transport: transport.send)
        await expectAccountError(.invalidArgument) { try await client.get(link: link) }
        #expect(transport.requests.isEmpty)
    }

    @Test("Neither sends nor refreshes the token of another service")
    func otherService() async throws {
        try await LoopbackServer.run(answer: taking("access-1")) { server in
            // The user has signed in to another service in the same session.
            for account in [Account.fresh(at: Self.now), .expired(at: Self.now)] {
                let store = try await AccountStore.inMemory(signedIn: account)
                let client = try AuthenticatedClient(
                    origin: server.address, store: store, authority: try OAuthAuthority.direct(server))
                await expectAccountError(.misconfigured) { try await client.get("/") }
            }
            #expect(server.requests.isEmpty)
        }
    }

    @Test("Accepts an absolute request URL on the client's origin")
    func wholeURL() async throws {
        try await LoopbackServer.run(answer: taking("access-1")) { server in
            let (client, _) = try await client(server, ScriptedAuthority())
            let whole = HTTPRequest(
                method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/next?after=7")
            #expect(try await client.send(whole).head.status == .ok)
            await expectAccountError(.invalidArgument) {
                try await client.send(HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/"))
            }
            #expect(try await client.get(server.address + "/next?after=7").head.status == 200)
            #expect(server.targets == ["/next?after=7", "/next?after=7"])
        }
    }

    @Test(
        "Refuses header fields that the API client sets",
        arguments: ["Authorization", "host", "Content-Length", "Transfer-Encoding"])
    func badHeader(_ name: String) async throws {
        try await LoopbackServer.run(answer: taking("access-1")) { server in
            let (client, _) = try await client(server, ScriptedAuthority())
            var request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
            request.headerFields[try #require(HTTPField.Name(name))] = "1"
            await expectAccountError(.invalidArgument) { try await client.send(request) }
            #expect(server.requests.isEmpty)
        }
    }

    @Test("Refuses a header value that would add another field")
    func smuggledHeader() async throws {
        try await LoopbackServer.run(answer: taking("access-1")) { server in
            let (client, _) = try await client(server, ScriptedAuthority())
            #expect(HTTPField.Name("X: y\r\nZ") == nil && HTTPField.Name("") == nil)
            var request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
            request.headerFields[try #require(HTTPField.Name("X"))] = "a\r\nY: b"
            #expect(try await client.send(request).head.status == .ok)
            #expect(server.requests.first?.headers["x"] == "a  Y: b")
            #expect(server.requests.first?.headers["y"] == nil)
        }
    }

    @Test(
        "Refuses an API client for an origin that must not receive a token",
        arguments: ["http://api.example.com", "api.example.com", "https://api.example.com/v1", "https://a.example?x"])
    func badOrigin(_ origin: String) async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        expectAccountError(.invalidArgument) {
            try AuthenticatedClient(origin: origin, store: store, authority: ScriptedAuthority())
        }
    }

    @Test func `Requests no claims that the server of a link requires`() async throws {
        let claims = "eyJhY2Nlc3NfdG9rZW4iOnsiYWNycyI6eyJlc3NlbnRpYWwiOnRydWUsInZhbHVlIjoiYzEifX19"
        try await LoopbackServer.run { _, _ in
            .response(401, ["WWW-Authenticate": #"Bearer error="insufficient_claims", claims="\#(claims)""#])
        } _: { files in
            try await LoopbackServer.run { _, _ in
                .json(#"{"access_token":"access-2","token_type":"Bearer","refresh_token":"r2"}"#)
            } _: { server in
                var account = Self.old
                account.issuer = server.address
                let authority = try OAuthAuthority(
                    issuer: server.address, clientID: "tool", endpoints: .all(at: server.address))
                let store = try await AccountStore.inMemory(signedIn: account)
                let client = try AuthenticatedClient(origin: server.address, store: store, authority: authority)
                #expect(try await client.get(link: files.address + "/file").head.status == 401)
                _ = try await authority.refresh(account)
                #expect(server.requests.last?.target == "/token")
                #expect(server.requests.last?.body.contains("claims=") == false)
            }
        }
    }

    @Test(
        arguments: [
            "eyJhY2Nlc3NfdG9rZW4iOnsiYWNycyI6eyJlc3NlbnRpYWwiOnRydWUsInZhbHVlIjoiYzEifX19",
            "eyJhY2Nlc3NfdG9rZW4iOnsiYWNycyI6eyJlc3NlbnRpYWwiOnRydWUsInZhbHVlIjoiYzEifX0=", "bm90IEpTT04=", "",
        ], [false, true])
    func `Refreshes once with the claims that an API requires, and repeats the request`(
        claims: String, isForwarded: Bool
    ) async throws {
        let isValid = claims.hasPrefix("eyJ") && !claims.hasSuffix("=")
        try await LoopbackServer.run { request, _ in
            switch (request.target, request.headers["authorization"]) {
            case ("/token", _): .json(#"{"access_token":"access-2","token_type":"Bearer","refresh_token":"r2"}"#)
            case (_, "Bearer access-2"): .json(#"{"ok":true}"#)
            default:
                .response(
                    401, ["WWW-Authenticate": #"Bearer realm="", error="insufficient_claims", claims="\#(claims)""#])
            }
        } _: { server in
            var account = Self.old
            account.issuer = server.address
            let authority = try OAuthAuthority(
                issuer: server.address, clientID: "tool", endpoints: .all(at: server.address))
            let store = try await AccountStore.inMemory(signedIn: account)
            let client = try AuthenticatedClient(origin: server.address, store: store, authority: authority)
            if isForwarded {
                let request = ForwardedRequest(method: "GET", url: server.address + "/me")
                let tokens = store.requestTokens(with: authority)
                #expect(try await authority.forward(request, with: tokens).status == 200)
            } else {
                #expect(try await client.get("/me").head.status == 200)
            }
            let refreshes = server.requests.filter { $0.target == "/token" }
            let required = "claims=%7B%22access_token%22%3A%7B%22acrs%22%3A%7B%22essential%22%3Atrue"
            #expect(refreshes.map { $0.body.contains(required) } == [isValid])
            #expect(refreshes.allSatisfy { isValid || !$0.body.contains("claims=") })
            // Neither the next refresh nor that of another session needs these claims.
            _ = try await authority.refresh(try #require(store.account))
            #expect(server.requests.last?.body.contains("claims=") == false)
        }
    }

    @Test(arguments: [("/api", false, false), ("/api", true, true), ("", false, true)])
    func `Requests the claims of an API only from a service that it did not name alone`(
        path: String, isNamed: Bool, isRequested: Bool
    ) async throws {
        let claims = "eyJhY2Nlc3NfdG9rZW4iOnsiYWNycyI6eyJlc3NlbnRpYWwiOnRydWUsInZhbHVlIjoiYzEifX19"
        try await LoopbackServer.run { request, server in
            switch (request.target, request.headers["authorization"]) {
            case ("/token", _): .json(#"{"access_token":"access-2","token_type":"Bearer","refresh_token":"r2"}"#)
            case (_, "Bearer access-2"): .json(#"{"ok":true}"#)
            default:
                .response(401, ["WWW-Authenticate": #"Bearer error="insufficient_claims", claims="\#(claims)""#])
            }
        } _: { server in
            var account = Self.old
            account.issuer = server.address
            account.credentials.resources = [server.address + path]
            account.credentials.tokenEndpoint = TokenEndpoint(
                url: server.address + "/token", expiresAt: Date().addingTimeInterval(3600))
            let authority = try OAuthAuthority(
                api: server.address + path, issuer: isNamed ? server.address : nil,
                client: OAuthClient(identifier: "tool"))
            let store = try await AccountStore.inMemory(signedIn: account)
            let client = try AuthenticatedClient(origin: server.address, store: store, authority: authority)
            #expect(try await client.get(path + "/me").head.status == 200)
            let refreshes = server.requests.filter { $0.target == "/token" }
            #expect(refreshes.map { $0.body.contains("claims=%7B%22access_token%22") } == [isRequested])
        }
    }

    @Test(arguments: [("https://gitlab.com", true), ("https://login.example.net", false)])
    func `Requests the claims of an API also from a known service`(issuer: String, isGiven: Bool) throws {
        var account = Self.old
        account.issuer = issuer
        account.credentials.resources = ["https://api.example.com"]
        let authority = try OAuthAuthority(api: "https://api.example.com", client: OAuthClient(identifier: "tool"))
        guard case .api(let api) = authority.origin else {
            Issue.record("the authority names no API")
            return
        }
        #expect(try (api.givenService(of: account) != nil) == isGiven)
    }

    @Test("Applies a service's documented rejection only to the service's own API")
    func documentedRefusal() async throws {
        let dead = LoopbackServer.Action.json(#"{"message":"Bad credentials"}"#, status: 401)
        try await LoopbackServer.run { _, _ in
            dead
        } _: { server in
            try await LoopbackServer.run { _, _ in
                dead
            } _: { other in
                var account = Self.old
                account.issuer = server.address
                account.credentials.refreshToken = nil
                let authority = try OAuthAuthority(issuer: server.address, clientID: "tool", service: .github)
                let store = try await AccountStore.inMemory(signedIn: account)
                let elsewhere = try AuthenticatedClient(origin: other.address, store: store, authority: authority)
                #expect(try await elsewhere.get("/x").head.status == 401)
                #expect(server.requests.isEmpty)
                let client = try AuthenticatedClient(origin: server.address, store: store, authority: authority)
                let error = await #expect(throws: AccountError.self) { try await client.get("/gists") }
                #expect(error?.code == .notSignedIn)
                #expect(server.targets == ["/gists", "/api/v3/user"])
            }
        }
    }
}
