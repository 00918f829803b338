import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Signing in and out.
struct SignInAndOutTests {
    @Test(
        arguments: [
            (.signInRefused("wrong password"), .signInRefused), (.oauthError(.invalidGrant), .signInRefused),
            (.oauthError(.accessDenied), .signInRefused), (.oauthError(.expiredToken), .signInRefused),
            (.bearerChallenge(error: "invalid_token"), .signInRefused), (.rejected("closed"), .signInRefused),
            (.oauthError(.invalidClient), .misconfigured), (.noResponse(.timeout), .serviceUnavailable),
            (.intercepted("a web page"), .serviceUnavailable), (.untrustedTLS("expired"), .serviceUnavailable),
            (.unavailable(status: 503, retryAfter: nil), .serviceUnavailable),
        ] as [(AuthorityError, AccountError.Code)])
    func `A sign-in that fails leaves who was signed in before`(
        failure: AuthorityError, code: AccountError.Code
    ) async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let before = storage.entries[.account]
        let authority = ScriptedAuthority(signIn: [.refuse(failure)], clock: clock)
        await expectAccountError(code) {
            try await store.signIn(username: "bob", password: Secret("password"), with: authority)
        }
        await expectAccountError(code) { try await store.signIn(token: Secret("t"), with: authority) }
        #expect(storage.entries[.account] == before)
        #expect(store.account?.username == "alice")
    }

    @Test func `Nobody is asked for a password that could not be used`() async throws {
        let storage = FaultyArchiveStorage()
        let store = try await AccountStore.testing(signedIn: nil, storage: storage)
        let authority = ScriptedAuthority()
        for call in [FaultyArchiveStorage.Call.begin, .reserve] {
            storage.inject(.fails(FaultyArchiveStorage.diskFull), of: call)
            await expectAccountError(FaultyArchiveStorage.diskFull.code) {
                try await store.signIn(username: "bob", password: Secret("password"), with: authority)
            }
        }
        #expect(authority.requests.isEmpty)
    }

    @Test func `What an app's own sign-in throws reaches the app`() async throws {
        let store = try await AccountStore.testing(signedIn: nil)
        let error = AccountError(.init(rawValue: "myOwn"), "my own")
        await expectAccountError(error.code) { try await store.signIn { throw error } }
        struct Mistake: Error {}
        await expectAccountError(.serviceUnavailable) { try await store.signIn { throw Mistake() } }
    }

    @Test func `A sign-in forgets that a refresh of the last session was never finished`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(refresh: [.refuse(.noResponse(.timeout))], clock: clock)
        _ = await store.checkSession(with: authority)
        #expect(try await store.unfinishedRefresh() == clock.now)
        try await store.signIn { .fresh(at: clock.now) }
        #expect(try await store.unfinishedRefresh() == nil)
    }

    @Test(
        arguments: [
            ([.accept], .done), ([.refuse(.noResponse(.unreachable))], .queued(.noResponse(.unreachable))),
            ([.refuse(.oauthError(.invalidGrant))], .refused(.oauthError(.invalidGrant))),
            (
                [.refuse(.unavailable(status: 503, retryAfter: nil))],
                .queued(.unavailable(status: 503, retryAfter: nil))
            ),
        ] as [([ScriptedAuthority.Response], SignOutReport.Revocation)])
    func `A sign-out is one whether the service hears of it or not`(
        answers: [ScriptedAuthority.Response], revocation: SignOutReport.Revocation
    ) async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(revoke: answers, clock: clock)
        let report = try await store.signOut(with: authority)
        #expect(report.revocation == revocation)
        #expect(report.account?.username == "alice")
        #expect(store.account == nil)
        #expect(storage.entries[.account] == nil)
        #expect(try await store.signOut(with: authority).account == nil)
        #expect(authority.requests == [.revoke], "a second sign-out has nobody to sign out")
    }

    @Test func `The account is gone here before the service is told`() async throws {
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: ManualClock().now), storage: storage)
        let authority = ScriptedAuthority(revoke: [.hang])
        let signOut = Task { try await store.signOut(with: authority) }
        await authority.waitForRequest(.revoke)
        #expect(store.account == nil)
        #expect(storage.entries[.account] == nil)
        // Whoever is cancelled has signed out all the same, so the service is told.
        signOut.cancel()
        authority.release()
        #expect(try await signOut.value.revocation == .done)
    }

    @Test func `Two sessions and two apps do not open each other's archives`() async throws {
        let storage = InMemoryArchiveStorage()
        _ = try await AccountStore.testing(signedIn: .fresh(at: ManualClock().now), storage: storage)
        for (app, session) in [("other", SessionName.default), ("testing", try SessionName("work"))] {
            let store = AccountStore(
                storage: storage, appIdentifier: app, session: session, keySources: [InMemoryKey()])
            #expect(await store.load().text == "unreadable: wrongKeyOrDamaged")
        }
    }
}
