import AccountKit
import AccountTesting
import FoundationEssentials
import InMemoryLogging
import Logging
import Synchronization
import Testing

@testable import AccountHTTP

/// What AccountKit stores of a registration, and when it registers again.
extension APIServicesTests {
    @Test(arguments: [
        (401, "{}", "--client-id"), (403, "{}", "--client-id"),
        (201, "{}", "no valid client ID"), (201, #"{"client_id":""}"#, "no valid client ID"),
        (201, #"{"client_id":null}"#, "no valid client ID"), (201, #"{"client_id":1.5}"#, "no valid client ID"),
        (201, #"{"client_id":"ä"}"#, "no valid client ID"),
        (201, #"{"client_id":"a","redirect_uris":["http://127.0.0.1:1/callback"]}"#, "changed the redirect URI"),
    ])
    func `Stores no registration that cannot be used, and says why`(
        status: Int, body: String, text: String
    ) async throws {
        let registrations = Self.registrations()
        try await LoopbackServer.run { request, address in
            request.target == "/register" ? .json(body, status: status) : Self.respond(to: request, at: address)
        } _: { server in
            let authority = try Self.authority(server, .registration(in: registrations, name: "Notes"))
            let failure = await asyncFailure { try await authority.beginDeviceSignIn() }
            #expect("\(try #require(failure))".contains(text))
            #expect(!server.targets.contains("/device"))
            #expect(try await registrations.registration(at: server.address) == nil)
        }
    }

    @Test(
        arguments: [
            (#""0""#, nil), ("0.0", nil), ("-1", nil), ("null", nil), (#""never""#, nil), ("1800003600000000", nil),
            (#""1800003600""#, 1_800_003_600), (#""2027-01-15T09:00:00Z""#, 1_800_003_600),
            ("1800003600.0", 1_800_003_600),
        ] as [(String, Double?)])
    func `Reads a registration with values of other types`(expiry: String, date: Double?) async throws {
        let registrations = Self.registrations()
        try await LoopbackServer.run { request, address in
            guard request.target == "/register" else { return Self.respond(to: request, at: address) }
            let uri = request.body.firstMatch(of: /"redirect_uris":\["([^"]*)"\]/)?.output.1.replacing("\\/", with: "/")
            return .json(
                #"{"client_id":4711,"client_secret":815,"redirect_uris":"\#(uri ?? "")","#
                    + #""client_secret_expires_at":\#(expiry)}"#, status: 201)
        } _: { server in
            let authority = try Self.authority(server, .registration(in: registrations, name: "Notes"))
            _ = try await authority.beginDeviceSignIn()
            let registration = try #require(try await registrations.registration(at: server.address))
            #expect(registration.clientID == "4711" && registration.clientSecret == Secret("815"))
            #expect(registration.secretExpiresAt == date.map { Date(timeIntervalSince1970: $0) })
        }
    }

    @Test(arguments: ["https://evil.example/register/1", "http://127.0.0.1:1/register/1"])
    func `Stores no management address at another server`(address: String) async throws {
        let registrations = Self.registrations()
        try await LoopbackServer.run {
            $0.target == "/register"
                ? .json(
                    #"{"client_id":"registered","registration_client_uri":"\#(address)","#
                        + #""registration_access_token":"\#(canary)"}"#, status: 201)
                : Self.respond(to: $0, at: $1)
        } _: { server in
            _ = try await Self.authority(server, .registration(in: registrations, name: "Notes")).beginDeviceSignIn()
            let stored = try #require(try await registrations.registration(at: server.address))
            #expect(stored.management == nil)
        }
    }

    @Test func `Registers again once if the service rejects the registration`() async throws {
        let rejections = Mutex(1)
        try await LoopbackServer.run { request, address in
            if request.target == "/device", rejections.withLock({ $0 > 0 }) {
                rejections.withLock { $0 -= 1 }
                return .json(#"{"error":"invalid_client"}"#, status: 401)
            }
            return Self.respond(to: request, at: address)
        } _: { server in
            _ = try await Self.authority(server).beginDeviceSignIn()
            #expect(server.targets.filter { $0 == "/register" }.count == 2)
            #expect(server.targets.filter { $0 == "/device" }.count == 2)
        }
    }

    /// Another process has registered the app again before the second sign-in.
    @Test(arguments: [true, false])
    func `Sign-ins at the same time keep their own clients`(usesBrowser: Bool) async throws {
        let storage = InMemoryArchiveStorage()
        let registrations = Self.registrations(storage)
        let count = Mutex(0)
        try await LoopbackServer.run { request, address in
            guard request.target == "/register" else { return Self.respond(to: request, at: address) }
            let number = count.withLock {
                $0 += 1
                return $0
            }
            return .json(#"{"client_id":"client-\#(number)"}"#, status: 201)
        } _: { server in
            let authority = try Self.authority(server, .registration(in: registrations, name: "Notes"))
            func forget() async throws {
                let known = try #require(try await registrations.registration(at: server.address))
                try await registrations.remove(known)
            }
            if usesBrowser {
                let service = try await authority.service()
                let first = try await service.signIns.beginBrowserSignIn(deliveryTime: .zero)
                try await forget()
                let second = try await service.signIns.beginBrowserSignIn(deliveryTime: .zero)
                for signIn in [first, second] {
                    let visit = try BrowserVisit(signIn.url)
                    let callback = try #require(visit.query["redirect_uri"])
                    let state = try #require(visit.query["state"])
                    try signIn.receive("\(callback)?code=c&state=\(state)")
                    try await signIn.waitForResponse()
                }
                #expect(try await first.credentials().clientID == "client-1")
                #expect(try await second.credentials().clientID == "client-2")
                for signIn in [first, second] { await signIn.finish(with: .failure(CancellationError())) }
            } else {
                let first = try await authority.beginDeviceSignIn()
                try await forget()
                let second = try await authority.beginDeviceSignIn()
                #expect(try await authority.pollDeviceSignIn(first).clientID == "client-1")
                #expect(try await authority.pollDeviceSignIn(second).clientID == "client-2")
            }
        }
    }

    @Test(arguments: [200, 403, 405, 503])
    func `Updates a registration with a management token for more scopes`(status: Int) async throws {
        let registrations = Self.registrations()
        try await LoopbackServer.run { request, address in
            let uri = request.body.firstMatch(of: /"redirect_uris":\["([^"]*)"/)?.output.1.replacing("\\/", with: "/")
            let members = #""redirect_uris":["\#(uri ?? "")"],"token_endpoint_auth_method":"none""#
            switch request.target {
            case "/register":
                return .json(
                    #"{"client_id":"registered",\#(members),"registration_client_uri":"\#(address)/register/1","#
                        + #""registration_access_token":"\#(canary)"}"#, status: 201)
            case "/register/1" where status == 200:
                return .json(#"{"client_id":"registered",\#(members),"registration_access_token":"new"}"#)
            case "/register/1": return .response(status)
            default: return Self.respond(to: request, at: address)
            }
        } _: { server in
            let client = OAuthClient.registration(in: registrations, name: "Notes")
            _ = try await Self.authority(server, client, scopes: ["a"]).beginDeviceSignIn()
            _ = try await Self.authority(server, client, scopes: ["b"]).beginDeviceSignIn()
            let update = try #require(server.requests.first { $0.target == "/register/1" })
            #expect(update.method == "PUT")
            #expect(update.headers["authorization"] == "Bearer \(canary)")
            #expect(update.body.contains(#""client_id":"registered""#) && update.body.contains(#""scope":"a b""#))
            #expect(server.targets.filter { $0 == "/register" }.count == (status == 200 ? 1 : 2))
            let stored = try #require(try await registrations.registration(at: server.address))
            #expect(stored.scopes == (status == 200 ? ["a", "b"] : ["b"]))
            // The response to the update contains no address, so the old one stays valid.
            #expect(stored.management?.url == server.address + "/register/1")
            #expect(stored.management?.token == Secret(status == 200 ? "new" : canary))
        }
    }

    @Test func `Does not log a management token that the service repeats`() async throws {
        let registrations = Self.registrations()
        let handler = InMemoryLogHandler()
        var logger = Logger(label: "test") { _ in handler }
        logger.logLevel = .trace
        try await LoopbackServer.run { request, address in
            let uri = request.body.firstMatch(of: /"redirect_uris":\["([^"]*)"/)?.output.1.replacing("\\/", with: "/")
            switch request.target {
            case "/register":
                return .json(
                    #"{"client_id":"registered","redirect_uris":["\#(uri ?? "")"],"token_endpoint_auth_method":"none","#
                        + #""registration_client_uri":"\#(address)/register/1","registration_access_token":"\#(canary)"}"#,
                    status: 201)
            case "/register/1":
                return .json(
                    #"{"error":"invalid_token","error_description":"Invalid token: \#(canary)"}"#, status: 401)
            default: return Self.respond(to: request, at: address)
            }
        } _: { server in
            for scope in ["a", "b"] {
                let authority = try OAuthAuthority(
                    api: server.address + "/mcp", client: .registration(in: registrations, name: "Notes"),
                    scopes: [scope], timeout: .seconds(20), clock: FixedClock(), logger: logger)
                _ = try await authority.beginDeviceSignIn()
            }
            #expect(server.targets.contains("/register/1"))
            #expect(!"\(handler.entries)".contains(canary), "\(handler.entries)")
        }
    }

    @Test func `Keeps the session if the service no longer knows the registration`() async throws {
        let storage = InMemoryArchiveStorage()
        let client = OAuthClient.registration(in: Self.registrations(storage), name: "Notes")
        let isForgotten = Mutex(false)
        try await LoopbackServer.run { request, address in
            request.target == "/token" && isForgotten.withLock(\.self)
                ? .json(#"{"error":"invalid_client"}"#, status: 401) : Self.respond(to: request, at: address)
        } _: { server in
            let authority = try Self.authority(server, client)
            let device = try await authority.beginDeviceSignIn()
            let account = try await authority.account(with: try await authority.pollDeviceSignIn(device))
            isForgotten.withLock { $0 = true }
            let failure = await asyncFailure { try await Self.authority(server, client).refresh(account) }
            guard case .oauthError("unauthorized_client", let description)? = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(description?.contains("no longer knows the registration") == true)
            // Without a valid token, the session tells the user to sign in again.
            #expect(failure.map(SessionDecision.refusesRenewal) == true)
            #expect(server.targets.filter { $0 == "/register" }.count == 1)
        }
    }
}
