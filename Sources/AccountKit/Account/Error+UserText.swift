import AccountSupport

extension Error {
    /// The error in words for the user.
    ///
    /// Use this property instead of interpolating an error. Swift describes an error without a description of its own by the
    /// names of its type and cases, such as `noResponse(AccountKit.AuthorityError.Failure(…))`.
    package var userText: String { userReason ?? "an unexpected error of the type \(type(of: self))" }

    /// The same as ``userText``, but `nil` if the error has a description only for developers.
    package var userReason: String? {
        switch self {
        case let error as any ExplainedError: error.explanation
        case is CancellationError: "cancelled"
        default: reason
        }
    }
}

/// An error with words for the user.
package protocol ExplainedError: Error {
    var explanation: String { get }
}

/// A cause that the message of its error already explains.
package protocol CauseInMessage: Error {}
