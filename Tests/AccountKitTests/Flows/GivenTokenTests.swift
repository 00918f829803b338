import AccountTesting
import Testing

@testable import AccountKit

struct GivenTokenTests {
    /// An app's own service, which returns only the user.
    private struct OwnService: AccountAuthority {
        var issuer: String? { nil }

        func verify(_ account: Account) async throws -> Identity { Identity(id: "7", profile: ["name": "Bob"]) }
    }

    private let clock = ManualClock()

    private func store() -> AccountStore {
        AccountStore(
            token: Secret("given"), from: "NOTES_TOKEN", appIdentifier: "com.example.notes", session: .default,
            clock: clock)
    }

    @Test func `Returns a token from the environment, and a check identifies its user`() async throws {
        let store = store()
        let authority = ScriptedAuthority()
        #expect(try await store.accessToken(timeout: nil, with: authority).reveal() == "given")
        #expect(authority.requests == [], "an unverified token needs no request")
        #expect(store.account?.id == "NOTES_TOKEN")

        guard case .verified(let account) = await store.checkSession(with: authority, timeout: nil) else {
            Issue.record("the service accepts the token")
            return
        }
        #expect(account.credentials.accessToken == Secret("given"))
        #expect(account.verifiedAt == clock.now)
        #expect(store.account == account)
        #expect(await store.load() == .unverified(account, .init(.notChecked)))
        #expect(try await store.accessToken(timeout: nil, with: authority).reveal() == "given")
    }

    @Test func `Verifies a given token with an authority that supports only checks`() async throws {
        let store = store()
        #expect(await store.checkSession(with: OwnService()).account?.displayName == "Bob")
        #expect(store.account?.id == "7")
    }

    @Test func `Skips a check of a given token within the maximum age`() async throws {
        let store = store()
        let authority = ScriptedAuthority()
        for _ in 1...2 { _ = await store.checkSession(with: authority, maximumAge: .seconds(900)) }
        #expect(authority.requests == [.signIn])
        _ = await store.checkSession(with: authority, timeout: nil)
        #expect(authority.requests == [.signIn, .signIn])
    }

    @Test(arguments: [
        AuthorityError.noResponse(.timeout), .unavailable(status: 503, retryAfter: nil), .unauthorized(error: nil),
        .forbidden(error: nil),
        .unclear("HTML"), .misconfigured("no user info"),
    ])
    func `Keeps a given token unless the service explicitly rejects the token`(failure: AuthorityError) async throws {
        let store = store()
        let authority = ScriptedAuthority(signIn: [.refuse(failure)])
        guard case .unverified(_, let reason) = await store.checkSession(with: authority, timeout: nil) else {
            Issue.record("the token is kept")
            return
        }
        #expect(reason == SessionDecision.reason(for: failure))
        #expect(try await store.accessToken(timeout: nil, with: authority).reveal() == "given")
    }

    /// A service with an issuer, which accepts the token or fails.
    private struct NamedService: AccountAuthority {
        var issuer: String? = "https://notes.example.com"
        var failure: AuthorityError?

        func verify(_ account: Account) async throws -> Identity {
            if let failure { throw failure }
            return Identity(id: "7")
        }
    }

    @Test func `Verifies a given token only with the service that confirmed the user`() async throws {
        let store = store()
        let account = try #require(await store.checkSession(with: NamedService()).account)
        #expect(account.issuer == "https://notes.example.com")
        let other = NamedService(issuer: "https://other.example.com", failure: .rejected("dead"))
        let state = await store.checkSession(with: other, timeout: nil)
        guard case .unverified(account, let reason) = state else {
            Issue.record("\(state)")
            return
        }
        #expect(reason.code == .misconfigured)
        #expect(await store.checkSession(with: NamedService()).account != nil)
    }

    @Test(arguments: [
        AuthorityError.signInRefused("closed"), .oauthError("access_denied"), .oauthError("invalid_grant"),
    ])
    func `Does not treat a refused sign-in as a rejection of a given token`(failure: AuthorityError) async throws {
        let store = store()
        let state = await store.checkSession(with: NamedService(failure: failure))
        #expect(state.account?.credentials.accessToken == Secret("given"), "\(state)")
    }

    @Test func `Names the variable to unset after a rejection of a given token`() async throws {
        let store = store()
        let authority = ScriptedAuthority(signIn: [.refuse(.unauthorized(error: "invalid_token")), .accept])
        guard case .signedOut(let signOut) = await store.checkSession(with: authority, timeout: nil) else {
            Issue.record("the session has ended")
            return
        }
        #expect(signOut.reason == .sessionEnded)
        #expect(signOut.detail == "invalid_token")
        #expect(store.account == nil)
        #expect(await store.checkSession(with: authority, timeout: nil) == .signedOut(signOut))
        #expect(authority.requests == [.signIn])
        let error = await expectAccountError(.notSignedIn) {
            try await store.accessToken(timeout: nil, with: authority)
        }
        #expect(error?.description.contains("unset NOTES_TOKEN") == true)
        #expect(try await self.store().accessToken(timeout: nil, with: authority).reveal() == "given")
    }

    @Test func `Keeps a given token if the check times out`() async throws {
        let store = store()
        let authority = ScriptedAuthority(signIn: [.hang])
        let state = await store.checkSession(with: authority, timeout: .zero)
        #expect(state.account?.id == "NOTES_TOKEN")
        #expect(store.account?.id == "NOTES_TOKEN")
    }

    @Test func `Refuses every change of a given token and names the variable`() async throws {
        let changes: [@Sendable (AccountStore, ScriptedAuthority) async throws -> Void] = [
            { try await $0.signIn(username: "alice", password: Secret("x"), with: $1) },
            { try await $0.signIn(token: Secret("x"), with: $1) },
            { store, _ in try await store.signIn { Account.testing(at: ManualClock().now) } },
            { try await $0.signOut(with: $1) },
            { store, _ in try await store.signOut() },
            { store, _ in try await store.update { $0.username = "x" } },
            { try await $0.sendProfile(to: $1) { $0["x"] = 1 } },
            { try await $0.refresh(with: $1) },
            { store, _ in try await store.addKey(from: KeyFile(path: "/nowhere/key")) },
        ]
        for change in changes {
            let (store, authority) = (store(), ScriptedAuthority())
            let error = await expectAccountError(.invalidArgument) { try await change(store, authority) }
            #expect(error?.description.contains("NOTES_TOKEN is set") == true)
            #expect(authority.requests == [])
            #expect(try await store.accessToken(timeout: nil, with: authority).reveal() == "given")
        }
    }

    @Test func `Reports no revocations and no keys for a token from the environment`() async throws {
        let store = store()
        #expect(try await store.pendingRevocations().isEmpty)
        #expect(try await store.unfinishedRefresh() == nil)
        #expect(try await store.keySlots().isEmpty)
    }

    @Test func `Ends the observation of a given token with the task`() async throws {
        let store = store()
        let task = Task { try await store.observeExternalChanges() }
        task.cancel()
        try await task.value
    }
}
