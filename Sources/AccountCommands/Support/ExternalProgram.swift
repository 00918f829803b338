import AccountKit
import Subprocess

/// Programs of the machine that these commands make use of, if they are there. Never through a shell.
enum ExternalProgram {
    private static func environment(hiding names: [String]) -> Subprocess.Environment {
        .inherit.updating(Dictionary(uniqueKeysWithValues: names.map { (.init(stringLiteral: $0), String?.none) }))
    }

    /// What a program prints; `nil` if there is no such program, if it fails, or if it prints more than 64 KiB.
    ///
    /// - Parameter hidden: Environment variables that it does not get.
    static func output(of program: String, _ arguments: [String], hiding hidden: [String]) async -> String? {
        let result = try? await run(
            .name(program), arguments: Arguments(arguments), environment: environment(hiding: hidden),
            output: .string(limit: 64 * 1024), error: .discarded)
        guard let result, result.terminationStatus.isSuccess else { return nil }
        return result.standardOutput
    }

    /// Opens a page in the user's browser: that of `$BROWSER`, else the one that the desktop has chosen.
    ///
    /// It returns when the program ends, which may be when the user closes the browser. That no program takes the address
    /// is no error: the user can open it by hand.
    ///
    /// - Parameter hidden: Environment variables that it does not get: a browser runs on, and many programs can look into it.
    static func openBrowser(_ address: String, hiding hidden: [String]) async {
        for program in browsers {
            // What it has to say is nothing for this terminal, and may go on after this process has ended.
            // `env` becomes the program, and takes a path as well as a name.
            let result = try? await run(
                .name("env"), arguments: [program, address], environment: environment(hiding: hidden),
                output: .discarded, error: .discarded)
            if let result, result.terminationStatus.isSuccess { return }
        }
    }

    /// As far as that can be told.
    static var hasBrowser: Bool {
        if AccountKit.Environment.value("BROWSER") != nil { return true }
        #if canImport(Darwin)
        return AccountKit.Environment.value("SSH_CONNECTION") == nil
        #else
        return AccountKit.Environment.value("DISPLAY") != nil || AccountKit.Environment.value("WAYLAND_DISPLAY") != nil
        #endif
    }

    /// `$BROWSER` is a list with colons (environ(7) of Debian's sensible-browser); a name with spaces is one program.
    private static var browsers: [String] {
        let chosen = AccountKit.Environment.value("BROWSER")?.split(separator: ":").map(String.init) ?? []
        #if canImport(Darwin)
        return chosen + ["open"]
        #else
        return chosen + ["xdg-open"]
        #endif
    }
}
