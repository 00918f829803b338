@testable import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct CredentialsTests {
    private static let now = ManualClock().now

    @Test(
        arguments: [
            // Expiry in seconds, the margin in seconds, and whether the token counts as expired.
            (60, 0, false), (60, 59, false), (60, 60, true), (60, 61, true), (0, 0, true), (-1, 0, true),
            (-1, -2, false),
            (nil, 0, false), (nil, 1e18, false), (1e12, 60, false), (-1e12, 0, true),
        ] as [(TimeInterval?, TimeInterval, Bool)])
    func `Treats a token as expired at its expiry, and never if unknown`(
        expiry: TimeInterval?, seconds: TimeInterval, expires: Bool
    ) {
        let credentials = Account.testing(at: Self.now, expiringIn: expiry.map { .seconds($0) }).credentials
        #expect(credentials.expires(within: .seconds(seconds), of: Self.now) == expires)
        #expect(credentials.isExpired(at: Self.now.addingTimeInterval(seconds)) == expires)
    }

    @Test func `Keeps the fields that a refresh response omits, except the expiry`() {
        var old = Account.testing(at: Self.now).credentials
        old.idToken = Secret("id-1")
        let later = Self.now.addingTimeInterval(100)
        let bare = old.renewed(by: Credentials(accessToken: Secret("access-2"), issuedAt: later))
        #expect(
            bare
                == Credentials(
                    accessToken: Secret("access-2"), refreshToken: Secret("refresh-1"), idToken: Secret("id-1"),
                    scopes: ["openid"], clientID: "test", issuedAt: later))
        let full = Credentials(
            accessToken: Secret("access-2"), refreshToken: Secret("refresh-2"), idToken: Secret("id-2"),
            tokenType: "DPoP", scopes: ["email"], clientID: "other", issuedAt: later, expiresAt: later)
        #expect(old.renewed(by: full) == full)
    }

    @Test func `Keeps the key of the session, whatever a response contains`() {
        var old = Account.testing(at: Self.now).credentials
        old.proofKey = Secret("key-1")
        for key in [nil, Secret("key-2"), Secret("")] {
            for type in ["DPoP", "Bearer"] {
                var response = Credentials(accessToken: Secret("access-2"), tokenType: type, issuedAt: Self.now)
                response.proofKey = key
                #expect(old.renewed(by: response).proofKey == Secret("key-1"))
                #expect(Account.testing(at: Self.now).credentials.renewed(by: response).proofKey == nil)
            }
        }
    }

    @Test func `Records the sign-in scopes when a response narrows them`() {
        var credentials = Account.testing(at: Self.now).credentials
        credentials.scopes = ["openid", "profile", "offline_access"]
        // The scopes of each response, then the account's scopes and its sign-in scopes.
        for (response, scopes, signInScopes) in [
            ([], ["openid", "profile", "offline_access"], []),
            (["profile", "openid"], ["profile", "openid"], []),
            (["openid"], ["openid"], ["profile", "openid"]),
            ([], ["openid"], ["profile", "openid"]),
            (["openid", "profile", "email"], ["openid", "profile", "email"], []),
            // The same permissions under other names.
            (["https://login.example/openid"], ["https://login.example/openid"], []),
        ] as [([String], [String], [String])] {
            credentials = credentials.renewed(
                by: Credentials(accessToken: Secret("new"), scopes: response, issuedAt: Self.now))
            #expect(credentials.scopes == scopes && credentials.signInScopes == signInScopes, "\(response)")
        }
    }

    @Test func `Treats tokens as equal only if access and refresh token match`() {
        let alice = Account.testing(at: Self.now)
        #expect(
            alice.credentials.hasSameTokens(as: Account.testing(id: "2", at: Self.now, expiringIn: nil).credentials))
        for other in [
            alice.with(token: "access-1", refreshToken: nil), alice.with(token: "access-1", refreshToken: "refresh-2"),
            alice.with(token: "access-2", refreshToken: "refresh-1"),
        ] {
            #expect(!alice.credentials.hasSameTokens(as: other.credentials))
        }
    }
}
