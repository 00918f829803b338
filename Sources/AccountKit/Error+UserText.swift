extension Error {
    /// The error in words for the user.
    ///
    /// Use this property instead of interpolating an error. Swift describes an error without a description of its own by the
    /// names of its type and cases, such as `noResponse(AccountKit.AuthorityError.Failure(…))`.
    package var userText: String {
        switch self {
        case let error as AuthorityError: "\(SessionDecision.reason(for: error))"
        case is CancellationError: "cancelled"
        case is DecodingError: "the data does not have the expected form"
        case is EncodingError: "the data cannot be written in this form"
        case let error as any CustomStringConvertible: error.description
        default: "an unexpected error of the type \(type(of: self))"
        }
    }
}
