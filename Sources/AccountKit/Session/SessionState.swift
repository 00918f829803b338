#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// How things stand with a session: four different things, none of which is ever taken for another.
public enum SessionState: Sendable {
    /// Nobody is signed in, and why.
    case signedOut(SignOut)

    /// The service knows this account, as of `account.verifiedAt`.
    case verified(Account)

    /// The account is there, the service did not confirm it just now, and why.
    case unverified(Account, UnverifiedReason)

    /// There is an archive, and it cannot be read. Nobody was signed out, and nothing was changed.
    case unreadable(AccountError)

    /// The account, verified or not.
    public var account: Account? {
        switch self {
        case .verified(let account), .unverified(let account, _): account
        case .signedOut, .unreadable: nil
        }
    }
}

extension SessionState: Equatable {
    /// Whether both are the same state with the same account and the same reason; of two that are unreadable, whether their
    /// errors have the same ``AccountError/code``, whatever else they say.
    public static func == (left: SessionState, right: SessionState) -> Bool {
        switch (left, right) {
        case (.signedOut(let left), .signedOut(let right)): left == right
        case (.verified(let left), .verified(let right)): left == right
        case (.unverified(let left, let leftReason), .unverified(let right, let rightReason)):
            left == right && leftReason == rightReason
        case (.unreadable(let left), .unreadable(let right)): left.code == right.code
        default: false
        }
    }
}

/// Why and when a session ended, without a word about whose it was.
public struct SignOut: Sendable, Hashable {
    /// Why. The raw values are stable.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// Nobody has signed in here yet.
        case neverSignedIn
        case signedOutByUser
        case sessionEnded
    }

    /// Why.
    public var reason: Reason

    /// When; `nil` if nobody has signed in yet.
    public var date: Date?

    /// The service that ended the session.
    public var issuer: String?

    /// The service's error code, such as `invalid_grant`.
    ///
    /// A later process sees the detail only if it has the form of an error code: at most 64 ASCII letters, digits, `_` and `-`.
    public var detail: String?

    /// When a refresh of the last tokens was begun whose response was never stored, because a process died or the response was
    /// lost; `nil` if there was none. A service that accepts each refresh token once only may have ended the session for it.
    public var unfinishedRefresh: Date?

    /// Creates a sign-out.
    public init(
        _ reason: Reason, date: Date? = nil, issuer: String? = nil, detail: String? = nil,
        unfinishedRefresh: Date? = nil
    ) {
        self.unfinishedRefresh = unfinishedRefresh
        self.reason = reason
        self.date = date
        self.issuer = issuer
        self.detail = detail
    }

    /// Nobody has signed in here yet.
    public static let neverSignedIn = SignOut(.neverSignedIn)
}
