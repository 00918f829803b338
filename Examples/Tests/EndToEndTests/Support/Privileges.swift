import Foundation

extension Command {
    /// Where programs are looked for.
    static let searchPath =
        ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
}

/// What the tester may do.
enum Privileges {
    /// Whether the tests run as root, who can give files away. Everyone else has a user namespace for the rest.
    static let isRoot = geteuid() == 0
}
