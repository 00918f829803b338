import AccountHTTP
import AccountKit
import AccountTesting
import Foundation
import TestScene
import Testing

/// The examples of the articles about sessions. A test below calls each of them.
enum Sessions {
    static func greet(_ store: AccountStore, _ authority: any AccountAuthority) async -> String {
        // snippet.check
        switch await store.checkSession(with: authority) {
        case .verified(let account): return "Hello \(account.displayName)"
        case .unverified(let account, let why): return "Hello \(account.displayName), working offline (\(why))"
        case .signedOut(let why): return "Run `notes account login` (\(why.reason))"
        case .unreadable(let error): return "\(error)"  // explains the problem and the fix; AccountKit changes nothing
        }
        // snippet.end
    }

    static func checkSometimes(_ store: AccountStore, _ authority: any AccountAuthority) async -> SessionState {
        // snippet.age
        let state = await store.checkSession(with: authority, maximumAge: .seconds(900))
        // snippet.end
        return state
    }

    static func token(_ store: AccountStore, _ authority: any AccountAuthority) async throws -> Int {
        // snippet.token
        let token = try await store.accessToken(with: authority)  // valid for another minute, refreshed if needed
        let header = "Bearer \(token.reveal())"
        // snippet.end
        return header.utf8.count
    }

    static func follow(_ store: AccountStore, _ report: (AccountEvent) -> Void) async {
        // snippet.follow
        let events = store.events()
        let following = Task { try await store.observeExternalChanges() }  // changes by other processes
        for await event in events {
            report(event)
            if case .signedOut = event { break }
        }
        following.cancel()
        // snippet.end
    }

    static func knownServices() throws -> [OAuthAuthority] {
        // snippet.services
        let github = try OAuthAuthority(issuer: KnownService.github.issuer, clientID: "Iv1.0123456789abcdef")
        let ownGitLab = try OAuthAuthority(issuer: "https://git.example.com", clientID: "notes-cli", service: .gitlab)
        // snippet.end
        return [github, ownGitLab]
    }

    static func options() throws -> OAuthAuthority {
        // snippet.options
        let authority = try OAuthAuthority(
            issuer: "https://login.example.com", clientID: "notes-cli", scopes: ["openid", "profile", "notes.read"],
            options: OAuthRequestOptions(
                audience: "https://api.example.com", parameters: ["prompt": "consent"]))
        // snippet.end
        return authority
    }

    static func endpoints() throws -> OAuthAuthority {
        // snippet.endpoints
        let authority = try OAuthAuthority(
            issuer: "https://login.example.com", clientID: "notes-cli",
            endpoints: OAuthEndpoints(
                token: "https://login.example.com/token", userInfo: "https://login.example.com/me",
                revocation: "https://login.example.com/revoke", authorization: "https://login.example.com/authorize"))
        // snippet.end
        return authority
    }
}

struct SessionsTests {
    @Test func `Distinguishes the four session states`() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        #expect(await Sessions.greet(store, ScriptedAuthority()) == "Run `notes account login` (neverSignedIn)")
        try await store.signIn { .fresh(at: ManualClock().now) }
        #expect(await Sessions.greet(store, ScriptedAuthority()) == "Hello alice")
        let offline = ScriptedAuthority(verify: [.refuse(.noResponse(.unreachable))])
        #expect(await Sessions.greet(store, offline).hasPrefix("Hello alice, working offline (offline"))
        let storage = FaultyArchiveStorage()
        storage.inject(.fails(AccountError(.inaccessible, "the disk is gone")), of: .read)
        let unreadable = try await AccountStore.inMemory(signedIn: nil, storage: storage)
        #expect(await Sessions.greet(unreadable, ScriptedAuthority()) == "the disk is gone")
    }

    @Test func `Verifies the account again only after the maximum age`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        let service = ScriptedAuthority(clock: clock)
        for _ in 1...2 { #expect(await Sessions.checkSometimes(store, service).account?.username == "alice") }
        #expect(service.requests == [.verify])
        clock.advance(by: .seconds(901))
        _ = await Sessions.checkSometimes(store, service)
        #expect(service.requests == [.verify, .verify])
    }

    @Test func `Returns an access token for a request`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock)
        #expect(try await Sessions.token(store, ScriptedAuthority(clock: clock)) == "Bearer access-2".utf8.count)
    }

    @Test func `Observes the changes that another store makes`() async throws {
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: nil, storage: storage)
        async let wasHeard: Bool = {
            var events: [AccountEvent] = []
            await Sessions.follow(store) { events.append($0) }
            return !events.isEmpty
        }()
        let other = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now), storage: storage)
        while store.account == nil { await Task.yield() }
        try await other.signOut()
        #expect(await wasHeard)
    }

    @Test func `Recognizes the issuers of known services`() throws {
        let services = try Sessions.knownServices()
        #expect(services.map(\.issuer) == ["https://github.com", "https://git.example.com"])
        // As the entry of GitLab says.
        #expect(services[1].supportsPerGrantRevocation)
        #expect(try Sessions.options().issuer == "https://login.example.com")
        #expect(try Sessions.endpoints().issuer == "https://login.example.com")
    }
}
