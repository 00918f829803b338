import AccountKit
import Subprocess

/// Programs of the machine that these commands make use of, if they are there. Never through a shell.
enum ExternalProgram {
    /// Runs a program and takes what it prints.
    ///
    /// - Returns: `nil` if there is no such program, if it fails, or if it prints more than `limit` bytes.
    static func output(of program: String, _ arguments: [String], limit: Int = 64 * 1024) async -> String? {
        let result = try? await run(
            .name(program), arguments: Arguments(arguments), output: .string(limit: limit), error: .discarded)
        guard let result, result.terminationStatus.isSuccess else { return nil }
        return result.standardOutput
    }

    /// Opens a page in the user's browser: that of `$BROWSER`, else the one that the desktop has chosen.
    ///
    /// - Returns: Whether a program took the address; `false` is no error, the user can open it by hand.
    static func openBrowser(_ address: String) async -> Bool {
        for program in browsers where await output(of: program, [address]) != nil { return true }
        return false
    }

    /// Whether there is a browser on this machine, as far as that can be told.
    static var hasBrowser: Bool {
        if Environment.value("BROWSER") != nil { return true }
        #if canImport(Darwin)
        return Environment.value("SSH_CONNECTION") == nil
        #else
        return Environment.value("DISPLAY") != nil || Environment.value("WAYLAND_DISPLAY") != nil
        #endif
    }

    /// `$BROWSER` is a list with colons (environ(7) of Debian's sensible-browser); a name with spaces is one program.
    private static var browsers: [String] {
        let chosen = Environment.value("BROWSER")?.split(separator: ":").map(String.init) ?? []
        #if canImport(Darwin)
        return chosen + ["open"]
        #else
        return chosen + ["xdg-open"]
        #endif
    }
}
