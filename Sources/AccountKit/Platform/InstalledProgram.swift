import AccountSupport

/// A program on this machine.
package struct InstalledProgram: Sendable {
    /// The path of the program; relative if the search path or the given path is relative.
    package let path: String

    /// Finds a program as a shell does: by a path, a path below `~/`, or a name in `$PATH`. Returns `nil` if there is no
    /// such program.
    package init?(_ program: String) {
        var paths = [program]
        if program.hasPrefix("~/"), let home = Environment.homeDirectory {
            paths = [home + program.dropFirst()]
        } else if !program.contains("/") {
            paths = (Environment.value("PATH") ?? "").split(separator: ":").map { "\($0)/\(program)" }
        }
        let found = paths.first { path in
            // A file that cannot be inspected cannot be run either.
            guard let status = try? SystemCall.targetStatus(path) else { return false }
            return status.kind == .regular && status.permissions & 0o111 != 0
        }
        guard let found else { return nil }
        path = found
    }

    /// Whether two paths lead to the same file, through any links.
    package func isSame(as other: InstalledProgram) -> Bool { identity != nil && identity == other.identity }

    /// Whether this process runs the program.
    package var isThisProgram: Bool {
        #if os(Linux)
        let own = try? SystemCall.identity("/proc/self/exe", followingLink: true)
        #else
        let own = CommandLine.arguments.first.flatMap { InstalledProgram($0)?.identity }
        #endif
        return identity != nil && identity == own
    }

    /// A file that cannot be inspected is equal to no other file.
    private var identity: FileIdentity? { try? SystemCall.identity(path, followingLink: true) }
}
