import AccountKit
import AccountTesting
import Foundation
import Testing

// snippet.settings
struct Settings: Codable {
    var theme = "light"
    var pageSize = 50

    enum CodingKeys: String, CodingKey {  // names of fields that the service does not use
        case theme = "notes_theme"
        case pageSize = "notes_page_size"
    }
}
// snippet.end

/// The examples of the article *The API on one page*. A test below calls each of them.
enum TheAPI {
    static func open() throws -> [AccountStore] {
        // snippet.open
        let container = try AppContainer(identifier: "com.example.notes")  // the folders of the app
        let store = AccountStore(container: container)  // reads nothing yet
        let work = AccountStore(container: container, session: try SessionName("work"))  // another account
        AccountStore.shared = store  // for all parts of the program
        // snippet.end
        return [store, work]
    }

    static func protected(_ container: AppContainer) -> AccountStore {
        // snippet.keys
        let store = AccountStore(container: container, keySources: [.command(["pass", "show", "notes"])])
        // snippet.end
        return store
    }

    static func signIn(
        _ store: AccountStore, _ authority: any PasswordAuthority, _ password: Secret
    ) async throws -> SignOutReport {
        // snippet.signin
        let account = try await store.signIn(username: "alice", password: password, with: authority)
        print("Signed in as \(account.displayName).")

        let report = try await store.signOut(with: authority)  // removes the account even if the service is unreachable
        if case .queued = report.revocation { print("The tokens will be revoked later.") }
        // snippet.end
        return report
    }

    static func describe(_ store: AccountStore) -> [String] {
        var lines: [String] = []
        func show(_ value: String) { lines.append(value) }
        // snippet.account
        if let account = store.account {  // in memory: on any thread, without I/O
            show("\(account.displayName) has the ID \(account.id)")
            show(account.profile.email ?? "no e-mail address")  // a claim of OpenID Connect
            if account.profile["notes_plan"] == "pro" { show("pro") }  // any other field
            if account.credentials.isExpired(at: .now) { show("the next use of the token refreshes it") }
        }
        // snippet.end
        return lines
    }

    static func change(_ store: AccountStore, _ authority: any AccountAuthority) async throws -> Settings? {
        // snippet.change
        try await store.update { account in account.profile["notes_plan"] = "pro" }  // one field of the stored account
        try await store.updateFields(default: Settings()) { settings in settings.theme = "dark" }  // a type of your own
        try await store.sendProfile(to: authority) { profile in profile.nickname = "Al" }  // at the service, then here

        let settings = try store.account?.profile.decoded(default: Settings())
        // snippet.end
        return settings
    }

    static func token(_ store: AccountStore, _ authority: any AccountAuthority) async throws(AccountError) -> Secret {
        // snippet.errors
        do {
            return try await store.accessToken(with: authority)
        } catch {
            switch error.code {
            case .notSignedIn, .renewalRefused: print("Run `notes account login`.")
            case .serviceUnavailable, .busy: print("Try again later.")
            default: print(error)  // the message and the advice
            }
            throw error
        }
        // snippet.end
    }

    static func end(_ store: AccountStore) async {
        // snippet.finish
        await store.finishPendingRequests()
        // snippet.end
    }
}

// snippet.service
struct NotesService: TokenAuthority {
    var issuer: String? { nil }
    let user: @Sendable (_ token: Secret) async throws -> (id: Int, name: String, error: String?)

    func verify(_ account: Account) async throws -> Identity {
        let response = try await user(account.credentials.accessToken)
        switch response.error {
        case nil: return Identity(id: response.id, username: response.name)
        case "token_revoked": throw AuthorityError.rejected("token_revoked")  // signs the user out
        case let error?: throw AuthorityError.unclear(error)  // the user stays signed in
        }
    }

    func signIn(token: Secret) async throws -> Account {
        let response = try await user(token)
        if let error = response.error { throw AuthorityError.signInRefused(error) }
        let credentials = Credentials(accessToken: token, issuedAt: .now)
        return Account(id: response.id, username: response.name, credentials: credentials)
    }

}
// snippet.end

struct TheAPITests {
    // snippet.test
    @Test func staysSignedInOffline() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        let service = ScriptedAuthority(verify: [.refuse(.noResponse(.unreachable))])
        let state = await store.checkSession(with: service)
        #expect(state.isSignedIn)
        #expect(state.account?.username == "alice")
    }
    // snippet.end

    @Test func `Opens two sessions and shares one of them`() async throws {
        try await AccountStore.withShared(.inMemory(signedIn: nil)) {
            let stores = try TheAPI.open()
            #expect(stores.map { "\($0.session)" } == ["default", "work"])
            #expect(AccountStore.shared === stores[0])
            let container = try AppContainer(root: "/nonexistent", identifier: "com.example.notes")
            #expect(TheAPI.protected(container).session == .default)
        }
    }

    @Test func `Signs in and out, and reports the revocation`() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        let report = try await TheAPI.signIn(store, ScriptedAuthority(), Secret("correct horse battery staple"))
        #expect(report.account?.username == "alice")
        #expect(report.revocation == .done)
    }

    @Test func `Describes and changes the account in memory`() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        let service = ScriptedAuthority()
        let settings = try #require(try await TheAPI.change(store, service))
        #expect(settings.theme == "dark")
        #expect(settings.pageSize == 50)
        #expect(service.requests == [.updateProfile])
        #expect(store.account?.profile.nickname == "Al")
        #expect(TheAPI.describe(store).dropFirst().prefix(2) == ["alice@example.com", "pro"])
    }

    @Test func `Returns a token to a signed-in user only`() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        await expectAccountError(.notSignedIn) { try await TheAPI.token(store, ScriptedAuthority()) }
        try await store.signIn { .fresh(at: ManualClock().now) }
        #expect(try await TheAPI.token(store, ScriptedAuthority()) == Secret("access-1"))
        await TheAPI.end(store)
    }

    @Test func `Ends a session of a service without OAuth only after a definite rejection`() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        func service(_ error: String?) -> NotesService { NotesService { _ in (7, "alice", error) } }
        await expectAccountError(.signInRefused) {
            try await store.signIn(token: Secret("t"), with: service("unknown"))
        }
        try await store.signIn(token: Secret("t"), with: service(nil))
        #expect(await store.checkSession(with: service(nil)).account?.id == "7")
        #expect(await store.checkSession(with: service("maintenance")).isSignedIn)
        #expect(await !store.checkSession(with: service("token_revoked")).isSignedIn)
    }
}
