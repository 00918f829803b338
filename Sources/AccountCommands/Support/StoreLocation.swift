import AccountKit

/// The place of a store that is not this machine's files, and who named it.
struct StoreLocation: Sendable {
    /// What means the files of this machine.
    static let files = "file:"

    let text: String

    /// The option or variable that it is from.
    let source: String

    var isFiles: Bool { text == Self.files }

    /// An error about what it says, which then says whose mistake it is.
    func naming(_ error: AccountError) -> AccountError {
        guard error.code == .invalidArgument else { return error }
        return AccountError(.invalidArgument, "\(source): \(error.message)", cause: error.cause)
    }
}
