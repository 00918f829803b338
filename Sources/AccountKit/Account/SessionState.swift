#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The state of a session.
public enum SessionState: Sendable {
    /// No user is signed in, for this reason.
    case signedOut(SignOut)

    /// The service confirmed the account at `account.verifiedAt`.
    case verified(Account)

    /// The user is signed in, but the service has not confirmed the account, for the given reason.
    case unverified(Account, UnverifiedReason)

    /// There is an archive that cannot be read. The archive is unchanged, and the user was not signed out.
    case unreadable(AccountError)

    /// The account, verified or not.
    public var account: Account? {
        switch self {
        case .verified(let account), .unverified(let account, _): account
        case .signedOut, .unreadable: nil
        }
    }

    /// Whether the user is known to be signed in: the state is ``verified(_:)`` or ``unverified(_:_:)``. This is `false` for
    /// ``unreadable(_:)``, although a user may be signed in.
    public var isSignedIn: Bool { account != nil }
}

extension SessionState: Equatable {
    /// Returns whether both states are the same, with the same account and reason. Two `.unreadable` states are equal
    /// if their errors have the same ``AccountError/code``.
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

/// The reason for the end of a session, and its date. A sign-out does not contain the user.
public struct SignOut: Sendable, Hashable {
    /// The reason for the end of a session. The raw values are stable.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// No user has signed in yet.
        case neverSignedIn
        case signedOutByUser
        case sessionEnded
    }

    /// The reason.
    public package(set) var reason: Reason

    /// The date; `nil` if no user has signed in yet.
    public package(set) var date: Date?

    /// The service that ended the session.
    package var issuer: String?

    /// The service's error code, such as `invalid_grant`.
    ///
    /// A later process reads the detail only if it has the form of an error code: at most 64 ASCII letters, digits, `_`
    /// and `-`.
    public package(set) var detail: String?

    /// The date when a refresh of the last tokens began, if its response was never stored because a process died or the
    /// response was lost; otherwise `nil`. A service that accepts each refresh token only once may have ended the
    /// session for this reason.
    package var unfinishedRefresh: Date?

    package init(
        _ reason: Reason, date: Date? = nil, issuer: String? = nil, detail: String? = nil,
        unfinishedRefresh: Date? = nil
    ) {
        self.unfinishedRefresh = unfinishedRefresh
        self.reason = reason
        self.date = date
        self.issuer = issuer
        self.detail = detail
    }

    package static let neverSignedIn = SignOut(.neverSignedIn)
}

extension SessionState {
    /// The state without personal data.
    var logText: String {
        switch self {
        case .verified: "verified"
        case .unverified(_, let reason): "kept without confirmation (\(reason))"
        case .signedOut(let signOut): "signed out (\(signOut.reason.rawValue))"
        case .unreadable(let error): "unreadable (\(error.code))"
        }
    }
}
