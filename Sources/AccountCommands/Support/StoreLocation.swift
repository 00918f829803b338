import AccountKit

/// The location of a store, such as an etcd cluster or the files of this machine, and the option or variable that names it.
struct StoreLocation: Sendable {
    /// The location that means files on this machine.
    static let files = "file:"

    package let text: String

    /// The option or variable that contains the location.
    let source: String

    var isFiles: Bool { text == Self.files }

    /// Adds the source to an error about the location.
    func naming(_ error: AccountError) -> AccountError {
        guard error.code == .invalidArgument else { return error }
        return AccountError(.invalidArgument, "\(source): \(error.message)", cause: error.cause)
    }
}
