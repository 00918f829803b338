import Foundation

extension Command {
    /// The search path for programs.
    static let searchPath =
        ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
}

/// The privileges of the user who runs the tests.
enum Privileges {
    /// Whether the tests run as root. Only root can change the owner of files; for all other operations, a user namespace
    /// is sufficient.
    static let isRoot = geteuid() == 0

    /// The user for commands that must not have special privileges: `nobody`, or the user who runs the tests.
    static let unprivilegedUser = isRoot ? 65_534 as UInt32 : geteuid()
}

extension Tool {
    /// Returns this command, run by a user other than root.
    ///
    /// - Parameter container: The container, whose files are assigned to that user.
    func unprivileged(in container: Container) async throws -> Tool {
        guard Privileges.isRoot else { return self }
        let user = Privileges.unprivilegedUser
        let given = try await Command(words: ["chown", "-R", "\(user):\(user)", container.root]).run()
        guard given.exitCode == 0 else { throw Unexpected(given) }
        // Only root may have access to the folders around the container and the built command, so grant the user read
        // access to these folders, but no other privilege.
        let words = [
            "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--inh-caps=-all,+dac_read_search",
            "--ambient-caps=-all,+dac_read_search", "--bounding-set=-all,+dac_read_search",
        ]
        return Tool(path: "setpriv", environment: environment, prefix: words + [path] + prefix)
    }
}

extension Command {
    /// Returns this command, run on a machine whose hosts file maps `localhost` to another address.
    func runWhereLocalhostLeads(to address: String, in container: Container) throws -> Command {
        let hosts = container.path("misleading-hosts")
        try container.write("\(address) localhost\n".utf8, to: hosts, permissions: 0o644)
        return run(inMountsOfItsOwn: "mount --bind '\(hosts)' /etc/hosts")
    }
}
