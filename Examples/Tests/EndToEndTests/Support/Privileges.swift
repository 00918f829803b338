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

    /// Who commands run as that may not do more than anybody: `nobody`, or who runs the tests.
    static let unprivilegedUser = isRoot ? 65_534 as UInt32 : geteuid()
}

extension Tool {
    /// The same command, run by a user who is not root.
    ///
    /// - Parameter container: Whatever is in it is given to that user.
    func unprivileged(in container: Container) async throws -> Tool {
        guard Privileges.isRoot else { return self }
        let user = Privileges.unprivilegedUser
        let given = try await Command(words: ["chown", "-R", "\(user):\(user)", container.root]).run()
        guard given.exitCode == 0 else { throw Unexpected(given) }
        // The folders that the container and the built command are in may be root's alone: they can be read, and no more.
        let words = [
            "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--inh-caps=-all,+dac_read_search",
            "--ambient-caps=-all,+dac_read_search", "--bounding-set=-all,+dac_read_search",
        ]
        return Tool(path: "setpriv", environment: environment, prefix: words + [path] + prefix)
    }
}
