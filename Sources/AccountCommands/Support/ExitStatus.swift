public import AccountKit
import ArgumentParser

extension AccountError {
    /// The exit code of the account commands for this error. The app's own commands can use the same codes: 64 usage,
    /// 65 archive unreadable, 69 a required service was unreachable or did not fulfill the request, 74 input/output
    /// error, 75 busy, 77 not signed in or rejected, 78 misconfigured, 130 interrupted (sysexits(3)).
    public var exitCode: Int32 {
        switch code {
        case .noKey, .wrongKeyOrDamaged, .damaged, .unsupportedVersion, .tooLarge, .insecureContainer: 65
        case .serviceUnavailable, .requestRefused: 69
        case .busy, .conflict, .storeUnreachable: 75
        case .notSignedIn, .renewalRefused, .signInRefused, .insufficientScope, .stepUpRequired: 77
        case .misconfigured: 78
        case .invalidArgument: 64
        case .cancelled: 130
        default: 74
        }
    }
}

extension SessionState {
    /// - Parameter verdictNeeded: Whether an account that the service did not confirm is a failure.
    func exitCode(verdictNeeded: Bool = false) -> ExitCode {
        switch self {
        case .verified: .success
        case .unverified(_, let reason) where verdictNeeded && reason.code == .renewalRefused: ExitCode(77)
        case .unverified(_, let reason) where verdictNeeded:
            ExitCode(reason.code == .misconfigured ? 78 : 69)
        case .unverified: .success
        case .signedOut: ExitCode(77)
        case .unreadable(let error) where error.code == .storeUnreachable: ExitCode(75)
        case .unreadable(let error) where error.code == .misconfigured: ExitCode(78)
        case .unreadable: ExitCode(65)
        }
    }
}
