import AccountKit

/// A store's location, such as an etcd cluster or the files of this machine, with the option or variable that contains
/// it.
struct StoreLocation: Sendable {
    package let text: String

    let source: String

    /// Whether this is `file:`, the files of this machine.
    var isFiles: Bool { text == "file:" }

    func naming(_ error: AccountError) -> AccountError {
        guard error.code == .invalidArgument else { return error }
        return AccountError(.invalidArgument, "\(source): \(error.message)", cause: error.cause)
    }
}
