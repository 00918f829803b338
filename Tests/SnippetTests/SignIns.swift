import AccountKit
import AccountTesting
import Testing

/// The examples of the article about sign-in flows. A test below calls each of them.
enum SignIns {
    static func withBrowser(_ store: AccountStore, _ authority: any BrowserAuthority) async throws {
        // snippet.browser
        try await store.signIn(
            with: authority,
            opening: { signIn in
                print("Open this address in a browser on this machine: \(signIn.url)")
            })
        // snippet.end
    }

    static func onDevice(_ store: AccountStore, _ authority: any DeviceAuthority) async throws {
        // snippet.device
        try await store.signIn(
            with: authority,
            showing: { code in
                print("Open \(code.verificationURI) on any device, and enter \(code.userCode).")
            })
        // snippet.end
    }

    static func withPassword(
        _ store: AccountStore, _ authority: any PasswordAuthority, _ username: String, _ password: Secret
    ) async throws {
        // snippet.password
        try await store.signIn(username: username, password: password, with: authority)
        // snippet.end
    }

    static func failure(_ store: AccountStore, _ authority: any TokenAuthority, _ token: Secret) async -> String {
        // snippet.failure
        do {
            let account = try await store.signIn(token: token, with: authority)
            return "Signed in as \(account.displayName)."
        } catch {
            return "\(error)"  // the service refused, is unreachable, or the account cannot be stored
        }
        // snippet.end
    }

    static func signOut(_ store: AccountStore, _ authority: any AccountAuthority) async throws -> String? {
        // snippet.out
        let report = try await store.signOut(with: authority)
        if case .queued = report.revocation { print("The service will be notified later.") }
        // snippet.end
        return report.account?.username
    }
}

struct SignInsTests {
    /// A service that no request reaches.
    private struct Unreachable: BrowserAuthority, DeviceAuthority {
        var issuer: String? { nil }

        func verify(_ account: Account) async throws -> Identity { throw AuthorityError.noResponse(.unreachable) }
        func isAuthority(of account: Account) -> Bool { true }
        func beginBrowserSignIn() async throws -> any BrowserSignIn { throw AuthorityError.noResponse(.unreachable) }
        func beginDeviceSignIn() async throws -> DeviceAuthorization { throw AuthorityError.noResponse(.unreachable) }
        func pollDeviceSignIn(_ authorization: DeviceAuthorization) async throws -> Credentials {
            throw AuthorityError.noResponse(.unreachable)
        }
        func account(with credentials: Credentials) async throws -> Account {
            throw AuthorityError.noResponse(.unreachable)
        }
    }

    @Test func `Signs in with a password and signs out`() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        let service = ScriptedAuthority()
        try await SignIns.withPassword(store, service, "alice", Secret("correct horse battery staple"))
        #expect(store.account?.username == "alice")
        #expect(try await SignIns.signOut(store, service) == "alice")
        #expect(service.requests == [.signIn, .revoke])
    }

    @Test func `Describes a refused token and stores no account`() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        let service = ScriptedAuthority(signIn: [.refuse(.signInRefused("unknown token")), .accept])
        #expect(await SignIns.failure(store, service, Secret("token")).contains("unknown token"))
        #expect(store.account == nil)
        #expect(await SignIns.failure(store, service, Secret("token")) == "Signed in as alice.")
    }

    @Test func `Fails the sign-in if the service is unreachable`() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        await expectAccountError(.serviceUnavailable) { try await SignIns.withBrowser(store, Unreachable()) }
        await expectAccountError(.serviceUnavailable) { try await SignIns.onDevice(store, Unreachable()) }
    }
}
