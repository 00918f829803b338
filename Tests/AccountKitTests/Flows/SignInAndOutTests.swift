import AccountKit
import AccountTesting
import TestScene
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct SignInAndOutTests {
    @Test(
        arguments: [
            (.signInRefused("wrong password"), .signInRefused), (.oauthError("invalid_grant"), .signInRefused),
            (.oauthError("access_denied"), .signInRefused), (.oauthError("expired_token"), .signInRefused),
            (.unauthorized(error: "invalid_token"), .signInRefused), (.rejected("closed"), .signInRefused),
            (.oauthError("invalid_client"), .misconfigured), (.noResponse(.timeout), .serviceUnavailable),
            (.intercepted("a web page"), .serviceUnavailable), (.untrustedTLS("expired"), .serviceUnavailable),
            (.unavailable(status: 503, retryAfter: nil), .serviceUnavailable),
        ] as [(AuthorityError, AccountError.Code)])
    func `Keeps the previous account after a failed sign-in`(
        failure: AuthorityError, code: AccountError.Code
    ) async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let before = storage.entries[.account]
        let authority = ScriptedAuthority(signIn: [.refuse(failure)], clock: clock)
        await expectAccountError(code) {
            try await store.signIn(username: "bob", password: Secret("password"), with: authority)
        }
        await expectAccountError(code) { try await store.signIn(token: Secret("t"), with: authority) }
        #expect(storage.entries[.account] == before)
        #expect(store.account?.username == "alice")
    }

    @Test func `The error of a sign-in names an untrusted certificate`() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        let detail = "the certificate of id.example:443 is not trusted, or has expired"
        let authority = ScriptedAuthority(signIn: [.refuse(.untrustedTLS(detail))])
        let error = await expectAccountError(.serviceUnavailable) {
            try await store.signIn(username: "bob", password: Secret("password"), with: authority)
        }
        #expect(error?.message == "the connection to the service is not secure: \(detail)")
        #expect(error?.hint?.contains("SSL_CERT_FILE") == true)
    }

    @Test func `Sends no password if the account could not be saved`() async throws {
        let storage = FaultyArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: nil, storage: storage)
        let authority = ScriptedAuthority()
        for call in [FaultyArchiveStorage.Call.begin, .reserve] {
            storage.inject(.fails(FaultyArchiveStorage.diskFull), of: call)
            await expectAccountError(FaultyArchiveStorage.diskFull.code) {
                try await store.signIn(username: "bob", password: Secret("password"), with: authority)
            }
        }
        #expect(authority.requests.isEmpty)
    }

    @Test func `Rethrows the error of an app's own sign-in function`() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        let error = AccountError(.init(rawValue: "myOwn"), "my own")
        await expectAccountError(error.code) { try await store.signIn { throw error } }
        struct Mistake: Error {}
        await expectAccountError(.serviceUnavailable) { try await store.signIn { throw Mistake() } }
    }

    @Test func `Clears the unfinished refresh of the last session at a sign-in`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(refresh: [.refuse(.noResponse(.timeout))], clock: clock)
        _ = await store.checkSession(with: authority, timeout: nil)
        #expect(try await store.unfinishedRefresh() == clock.now)
        try await store.signIn { .fresh(at: clock.now) }
        #expect(try await store.unfinishedRefresh() == nil)
    }

    @Test func `Removes the local account before sending the revocation`() async throws {
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now), storage: storage)
        let authority = ScriptedAuthority(revoke: [.hang])
        let signOut = Task { try await store.signOut(with: authority) }
        await authority.waitForRequest(.revoke)
        #expect(store.account == nil)
        #expect(storage.entries[.account] == nil)
        // Despite the cancellation the user has signed out, so the tokens are revoked.
        signOut.cancel()
        authority.release()
        #expect(try await signOut.value.revocation == .done)
    }
}
