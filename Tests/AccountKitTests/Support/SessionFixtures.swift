@testable import AccountKit
import AccountTesting

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Accounts, revisions and errors for the tests of session flows.
enum Fixture {
    static let now = Date(timeIntervalSince1970: 1_893_499_200)
    static let old = ArchiveRevision(bytes: [1])
    static let other = ArchiveRevision(bytes: [2])

    /// Alice, with a token that is valid for an hour.
    static let alice = Account.fresh(at: now)

    /// Alice, whose token expired an hour ago.
    static let expired = Account.expired(at: now)

    static let withoutRefreshToken = Account.testing(at: now, hasRefreshToken: false)

    /// Alice with tokens that another process has obtained.
    static let replaced = alice.with(token: "other-access", refreshToken: "other-refresh")

    /// Alice after another process has changed only her profile.
    static let renamed: Account = {
        var account = alice
        account.profile.nickname = "Ally"
        return account
    }()

    /// Another user.
    static let bob = Account.testing(id: "bob", at: now).with(token: "bob-access", refreshToken: "bob-refresh")

    /// A client without a user, whose token has just expired.
    static let machine = Account.machine(at: now.addingTimeInterval(-3600))

    static let newTokens = Credentials(
        accessToken: Secret("access-2"), refreshToken: Secret("refresh-2"), issuedAt: now,
        expiresAt: now.addingTimeInterval(3600))

    static let diskFull = AccountError(.inaccessible, "no space left on device")
    static let conflict = AccountError(.conflict, "another process changed the entry")
    static let ended = SignOut(.signedOutByUser, date: now)
    static let pending = RevocationQueue.Record(
        entry: ArchiveEntry(rawValue: "Revocation-1.plist"), revision: other,
        payload: QueuedRevocation(of: alice, at: now))

    /// Errors of a storage.
    static let failures: [AccountError] = [
        AccountError(.inaccessible, "no space left on device"),
        AccountError(.busy, "another process has the lock"),
        AccountError(.conflict, "another process changed the entry"),
        AccountError(.tooLarge, "too large"),
        AccountError(.insecureContainer, "others can write"),
    ]

    /// Errors that make an archive unreadable.
    static let unreadable: [AccountError] = [
        AccountError(.noKey, "no key"), AccountError(.wrongKeyOrDamaged, "wrong key"),
        AccountError(.damaged, "damaged"),
        AccountError(.unsupportedVersion, "later version"), AccountError(.inaccessible, "no permission"),
        AccountError(.insecureContainer, "others can write"),
    ]

    /// Failed requests, including each definite rejection.
    static let authorityErrors: [AuthorityError] = [
        .noResponse(.timeout), .noResponse(.cancelled), .untrustedTLS("expired"), .oauthError("invalid_grant"),
        .oauthError("invalid_client"), .unauthorized(error: "invalid_token"), .unauthorized(error: nil),
        .forbidden(error: nil),
        .unavailable(status: 503, retryAfter: .seconds(5)), .intercepted("a web page"), .unclear("no JSON"),
        .otherUser(id: "2"), .rejected("closed"), .oauthError("interaction_required"), .refused(status: 404),
    ]
}

extension Account {
    func with(token: String, refreshToken: String?) -> Account {
        var account = self
        account.credentials.accessToken = Secret(token)
        account.credentials.refreshToken = refreshToken.map { Secret($0) }
        return account
    }
}

extension RefreshOutcome {
    /// A description: the case, the access token and the reason.
    var text: String {
        switch self {
        case .renewed(let account): "renewed \(account.credentials.accessToken.reveal())"
        case .adopted(let account): "adopted \(account.credentials.accessToken.reveal())"
        case .kept(let account, let reason): "kept \(account.credentials.accessToken.reveal()): \(reason.code)"
        case .unsaved(let account, let error): "unsaved \(account.credentials.accessToken.reveal()): \(error.code)"
        case .signedOut(let signOut): "signed out: \(signOut.reason)"
        case .unreadable(let error): "unreadable: \(error.code)"
        }
    }
}

extension SessionState {
    /// A description: the case, the access token and the reason.
    var text: String {
        switch self {
        case .verified(let account): "verified \(account.credentials.accessToken.reveal())"
        case .unverified(let account, let reason):
            "unverified \(account.credentials.accessToken.reveal()): \(reason.code)"
        case .signedOut(let signOut): "signed out: \(signOut.reason)"
        case .unreadable(let error): "unreadable: \(error.code)"
        }
    }
}

extension UnverifiedReason {
    /// The service refused to renew a session.
    static var refusal: UnverifiedReason {
        guard case .keep(let reason) = SessionDecision.afterRefresh(.oauthError("interaction_required")) else {
            preconditionFailure("this error is not definite")
        }
        return reason
    }
}
