/// A user given on the command line as `NAME:PASSWORD`.
///
/// A command line is visible to every user of the machine: right for a made-up password, wrong for a real one.
struct DemoUser: Equatable, Sendable {
    let name: String
    let password: String

    /// - Parameter text: name and password with a colon between them; the password may contain more colons.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
        name = parts[0]
        password = parts[1]
    }
}
