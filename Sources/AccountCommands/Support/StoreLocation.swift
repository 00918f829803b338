import AccountKit

/// A store's location, such as an etcd cluster or the files of this machine, with the option or variable that contains
/// it.
struct StoreLocation: Sendable {
    static let files = "file:"

    package let text: String

    let source: String

    var isFiles: Bool { text == Self.files }

    func naming(_ error: AccountError) -> AccountError {
        guard error.code == .invalidArgument else { return error }
        return AccountError(.invalidArgument, "\(source): \(error.message)", cause: error.cause)
    }
}
