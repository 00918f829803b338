/// The outcome of a refresh.
enum RefreshOutcome: Sendable {
    case renewed(Account)

    /// Another process has replaced the tokens with these.
    case adopted(Account)

    case kept(Account, UnverifiedReason)

    case unsaved(Account, AccountError)
    case signedOut(SignOut)
    case unreadable(AccountError)

    /// The outcome without personal data.
    var logText: String {
        switch self {
        case .renewed: "new tokens are stored"
        case .adopted: "another process has stored new tokens"
        case .kept(_, let reason): "the account is kept (\(reason))"
        case .unsaved: "new tokens are not stored"
        case .signedOut(let signOut): "signed out (\(signOut.reason.rawValue))"
        case .unreadable(let error): "the archive is unreadable (\(error.code))"
        }
    }
}
