import AccountKit
import Subprocess

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Optional programs of the machine. Never run through a shell.
enum ExternalProgram {
    private static func environment(hiding names: [String]) -> Subprocess.Environment {
        .inherit.updating(Dictionary(uniqueKeysWithValues: names.map { (.init(stringLiteral: $0), String?.none) }))
    }

    /// Whether there is a program, by its path or as a name in `$PATH`.
    static func isInstalled(_ program: String) -> Bool {
        var paths = [program]
        if program.hasPrefix("~/"), let home = AccountKit.Environment.homeDirectory {
            paths = [home + program.dropFirst()]
        } else if !program.contains("/") {
            paths = (AccountKit.Environment.value("PATH") ?? "").split(separator: ":").map { "\($0)/\(program)" }
        }
        return paths.contains { path in
            // A file that cannot be inspected cannot be run either.
            guard let status = try? SystemCall.targetStatus(path) else { return false }
            return status.kind == .regular && status.permissions & 0o111 != 0
        }
    }

    /// Returns what a program prints; `nil` if there is no such program, if it fails, or if it prints more than 64 KiB.
    ///
    /// - Parameters:
    ///   - input: Its standard input. Other users of the machine can read arguments, but not this text.
    ///   - hidden: Environment variables that the program does not get.
    static func output(
        of program: String, _ arguments: [String], input: String = "", hiding hidden: [String]
    ) async -> String? {
        // A program that ends before it has read its input must not end this one. Networking libraries ignore the signal, too.
        if !input.isEmpty { signal(SIGPIPE, SIG_IGN) }
        let result = try? await run(
            .name(program), arguments: Arguments(arguments), environment: environment(hiding: hidden),
            input: .inputWriter, output: .string(limit: 64 * 1024), error: .discarded
        ) { execution in
            // A program need not read its input.
            if !input.isEmpty { _ = try? await execution.standardInputWriter.write(input) }
        }
        guard let result, result.terminationStatus.isSuccess else { return nil }
        return result.standardOutput
    }

    /// Opens a page in the user's browser: that of `$BROWSER`, else the default of the desktop.
    ///
    /// Returns when the program ends, perhaps only when the user closes the browser. Failure is no error: the user can
    /// open the page by hand.
    ///
    /// - Parameters:
    ///   - address: An address without secrets: every user of the machine can read it. See ``RedirectPage``.
    ///   - hidden: Environment variables to hide: a browser runs on, and many programs can look into it.
    static func openBrowser(_ address: String, hiding hidden: [String]) async {
        for program in browsers {
            // Its output is not for this terminal, and may go on after this process has ended. `env` becomes the
            // program, and accepts a path as well as a name.
            let result = try? await run(
                .name("env"), arguments: [program, address], environment: environment(hiding: hidden),
                output: .discarded, error: .discarded)
            if let result, result.terminationStatus.isSuccess { return }
        }
    }

    static var hasBrowser: Bool {
        if AccountKit.Environment.value("BROWSER") != nil { return true }
        #if canImport(Darwin)
        return AccountKit.Environment.value("SSH_CONNECTION") == nil
        #else
        return AccountKit.Environment.value("DISPLAY") != nil || AccountKit.Environment.value("WAYLAND_DISPLAY") != nil
        #endif
    }

    /// `$BROWSER` is a list with colons (sensible-browser(1)); a name with spaces is one program.
    private static var browsers: [String] {
        let chosen = AccountKit.Environment.value("BROWSER")?.split(separator: ":").map(String.init) ?? []
        #if canImport(Darwin)
        return chosen + ["open"]
        #else
        return chosen + ["xdg-open"]
        #endif
    }
}
