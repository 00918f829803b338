import AccountSupport

extension AccountError: CustomStringConvertible {
    /// The message, the cause in brackets, and the hint.
    public var description: String { problem + (hint.map { ": " + $0 } ?? "") }

    /// The message, and the cause in brackets.
    package var problem: String {
        switch cause {
        // The message already explains these causes.
        case nil, is AccessRequirement, is RequestFailure: message
        // Name the file once.
        case let cause as SystemCallError where message.contains(cause.path): "\(message) (\(cause.reason))"
        // Texts for developers, such as those of a decoder, do not help the user.
        case let cause?: cause.userReason.map { "\(message) (\($0))" } ?? message
        }
    }
}

extension Error {
    /// The error in words for the user.
    ///
    /// Use this property instead of interpolating an error. Swift describes an error without a description of its own by the
    /// names of its type and cases, such as `noResponse(AccountKit.AuthorityError.Failure(…))`.
    package var userText: String { userReason ?? "an unexpected error of the type \(type(of: self))" }

    /// The same as ``userText``, but `nil` if the error has a description only for developers.
    package var userReason: String? {
        switch self {
        case let error as AuthorityError: "\(SessionDecision.reason(for: error))"
        case is CancellationError: "cancelled"
        default: reason
        }
    }
}
