#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension AccountError {
    /// Wraps an error of a storage. An ``AccountError`` stays unchanged.
    package init(wrapping error: any Error) {
        switch error {
        case let error as AccountError: self = error
        case is CancellationError:
            self.init(.cancelled, "cancelled while waiting for the archive: nothing was changed")
        default: self.init(.inaccessible, "the storage failed", cause: error)
        }
    }

    package init(notSignedIn signOut: SignOut) {
        let message =
            switch signOut.reason {
            case .neverSignedIn: "you are not signed in: sign in first"
            case .signedOutByUser: "you have signed out: sign in again"
            case .sessionEnded:
                "\(signOut.issuer ?? "the service") ended this session\(signOut.detail.map { " (\($0))" } ?? ""): sign in again"
            }
        self.init(.notSignedIn, message)
    }

    /// The session was moved, so the operation is possible only in its new storage.
    package init(_ move: SessionMove) {
        let end =
            move.isComplete
            ? "this session was moved to \(move.place) on \(move.date.formatted(.iso8601)), and is refreshed there only: use it there"
            : "the move of this session to \(move.place), begun on \(move.date.formatted(.iso8601)), is not complete, and the session "
                + "cannot be refreshed until it is: run the move again"
        self.init(.moved, end)
    }

    package init(unidentified failure: AuthorityError, _ outcome: RevocationOutcome) {
        let (code, reason): (Code, String) =
            switch SessionDecision.afterVerification(failure, .init(holdsRefreshToken: false)) {
            case .keep(let reason) where reason.code == .cancelled: (.cancelled, "\(reason)")
            case .keep(let reason) where reason.code == .misconfigured: (.misconfigured, "\(reason)")
            case .keep(let reason): (.serviceUnavailable, "\(reason)")
            case .clear(let detail): (.serviceUnavailable, detail)
            case .refreshOnce, .adoptStored: (.serviceUnavailable, "unexpected response")
            }
        let end =
            switch outcome {
            case .done: "they have been revoked"
            case .queued: "they will be revoked"
            case .refused, .notSupported: "they could not be revoked, and stay valid until they expire"
            }
        let advice =
            switch failure {
            case .forbidden(error: "insufficient_scope"), .bearerChallenge(error: "insufficient_scope"):
                ". Ask for the scope openid (on a command line, with --scope openid)"
            case _ where code == .serviceUnavailable: "; try again"
            default: ""
            }
        self.init(
            code,
            "the service issued tokens, but did not identify the user (\(reason)): \(end), and nothing was changed here\(advice)"
        )
    }

    /// Describes a failed sign-in. The stored account has not changed.
    ///
    /// - Parameter advice: What the user can do if the service refused the input.
    init(signIn failure: AuthorityError, advice: String) {
        switch SessionDecision.afterSignIn(failure) {
        case .refused(let detail):
            let advice = detail.hasPrefix("invalid_grant") ? advice : "nothing was changed"
            self.init(.signInRefused, "the service refused the sign-in (\(detail)): \(advice)")
        case .startOver: self.init(.signInRefused, "the code has expired: start again")
        case .unclear(let reason) where reason.code == .misconfigured:
            self.init(.misconfigured, "this sign-in is not possible: \(reason.detail ?? "misconfigured")")
        case .unclear(let reason) where reason.code == .cancelled:
            self.init(.cancelled, "the sign-in was cancelled: nothing was changed")
        case .unclear(let reason) where reason.code == .offline:
            self.init(
                .serviceUnavailable,
                "the service could not be reached (\(reason.detail ?? "offline")): nothing was changed, try again")
        case .unclear(let reason):
            self.init(
                .serviceUnavailable,
                "the service gave an unexpected response to the sign-in (\(reason)): nothing was changed, try again")
        case .pollAgain:
            self.init(
                .serviceUnavailable,
                "the service gave an unexpected response to the sign-in: nothing was changed, try again")
        }
        cause = RequestFailure(failure)
    }
}

extension UnverifiedReason.Code {
    /// The reason why nothing can be saved.
    init(savingFailure error: any Error) {
        self =
            switch (error as? AccountError)?.code {
            case .busy: .busy
            case .storeUnreachable: .storeUnreachable
            default: .cannotSave
            }
    }
}

extension UnverifiedReason {
    init(_ move: SessionMove) { self.init(.moved, detail: "\(AccountError(move))") }
}

extension UnverifiedReason: CustomStringConvertible {
    /// The code, and the detail if there is one.
    public var description: String {
        detail.map { "\(code.rawValue): \($0)" } ?? code.rawValue
    }
}
