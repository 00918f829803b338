/// A user from the command line, given as `NAME:PASSWORD`.
///
/// Every user of the machine can see a command line, so only use passwords that are made up.
struct DemoUser: Equatable, Sendable {
    let name: String
    let password: String

    /// - Parameter text: The name and password, separated by a colon. The password may contain further colons.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
        name = parts[0]
        password = parts[1]
    }
}
