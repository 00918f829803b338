import AccountKit
import ArgumentParser

/// The exit codes, as sysexits(3) names them.
enum ExitStatus {
    static let unreadable = ExitCode(65)
    static let unavailable = ExitCode(69)
    static let inputOutput = ExitCode(74)
    static let busy = ExitCode(75)
    static let notSignedIn = ExitCode(77)
    static let misconfigured = ExitCode(78)
    static let usage = ExitCode(64)
    static let interrupted = ExitCode(130)

    /// The exit code of an error.
    static func code(of error: AccountError) -> ExitCode {
        switch error.code {
        case .noKey, .wrongKeyOrDamaged, .damaged, .unsupportedVersion, .tooLarge: unreadable
        case .serviceUnavailable: unavailable
        case .busy, .conflict: busy
        case .notSignedIn, .signInRefused: notSignedIn
        case .misconfigured, .insecureContainer: misconfigured
        case .invalidArgument: usage
        case .cancelled: interrupted
        default: inputOutput
        }
    }

    /// The exit code of a state; success for everyone who is signed in.
    ///
    /// - Parameter verdictNeeded: Whether an account that the service did not confirm is a failure.
    static func code(of state: SessionState, verdictNeeded: Bool = false) -> ExitCode {
        switch state {
        case .verified: .success
        case .unverified(_, let reason) where verdictNeeded:
            reason.code == .misconfigured ? misconfigured : unavailable
        case .unverified: .success
        case .signedOut: notSignedIn
        case .unreadable: unreadable
        }
    }
}
