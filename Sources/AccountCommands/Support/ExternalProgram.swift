import AccountKit
import AccountSupport
import Subprocess

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Optional programs on the machine. AccountKit never runs these programs through a shell.
package enum ExternalProgram {
    private static func environment(hiding names: [String]) -> Subprocess.Environment {
        .inherit.updating(Dictionary(uniqueKeysWithValues: names.map { (.init(stringLiteral: $0), String?.none) }))
    }

    package static func isInstalled(_ program: String) -> Bool {
        var paths = [program]
        if program.hasPrefix("~/"), let home = AccountSupport.Environment.homeDirectory {
            paths = [home + program.dropFirst()]
        } else if !program.contains("/") {
            paths = (AccountSupport.Environment.value("PATH") ?? "").split(separator: ":").map { "\($0)/\(program)" }
        }
        return paths.contains { path in
            // A file that cannot be inspected cannot be run either.
            guard let status = try? SystemCall.targetStatus(path) else { return false }
            return status.kind == .regular && status.permissions & 0o111 != 0
        }
    }

    /// Returns the output of a program; `nil` if there is no such program, if it fails, or if it prints more than 4
    /// MiB. Other users of the machine can read the arguments, but not `input`.
    package static func output(
        of program: String, _ arguments: [String], input: String = "", hiding hidden: [String]
    ) async -> String? {
        // A program that ends before reading its input must not end this process.
        if !input.isEmpty { signal(SIGPIPE, SIG_IGN) }
        let result = try? await run(
            .name(program), arguments: Arguments(arguments), environment: environment(hiding: hidden),
            input: .inputWriter, output: .string(limit: 4 << 20), error: .discarded
        ) { execution in
            // A program need not read its input.
            if !input.isEmpty { _ = try? await execution.standardInputWriter.write(input) }
        }
        guard let result, result.terminationStatus.isSuccess else { return nil }
        return result.standardOutput
    }

    /// Opens a page in the browser from `$BROWSER`, otherwise in the default browser of the desktop. Does not wait for
    /// the browser, which may run until the user closes it. A failure is not an error: the user can open the page
    /// manually.
    ///
    /// Many programs can inspect a running browser, so `hidden` names environment variables to withhold from it. The
    /// address must not contain secrets, because every user of the machine can read it; see ``RedirectPage``.
    static func openBrowser(at page: RedirectPage, hiding hidden: [String]) async {
        var commands = chosenBrowsers.map { [$0, page.url] }
        #if canImport(Darwin)
        var last = ["open", page.url]
        #else
        var last = ["xdg-open", page.url]
        #endif
        if isInWindowsSubsystem {
            commands.append(["wslview", page.path])
            if isInstalled("explorer.exe"), let path = await output(of: "wslpath", ["-w", page.path], hiding: hidden) {
                // The last program, because `explorer.exe` fails even if it has opened the page.
                last = ["explorer.exe", String(path.prefix { $0 != "\n" })]
            }
        }
        launch(firstOf: commands + [last], hiding: hidden)
    }

    /// Runs the first program that succeeds, and returns immediately. The program may outlive this process, so its output
    /// is discarded. A failure is not an error.
    ///
    /// A thread runs the programs, because a task would wait for each program, and Subprocess never continues a task
    /// whose program it has not started when this process ends.
    package static func launch(firstOf commands: [[String]], hiding hidden: [String]) {
        // Without a thread, nothing is launched.
        _ = DedicatedThread.start {
            for command in commands {
                // `env` replaces itself with the program, and accepts a path or a name.
                if ChildProcess.succeeds(["env"] + command, hiding: hidden) { return }
            }
        }
    }

    static var hasBrowser: Bool {
        if AccountSupport.Environment.value("BROWSER") != nil { return true }
        #if canImport(Darwin)
        return AccountSupport.Environment.value("SSH_CONNECTION") == nil
        #else
        return AccountSupport.Environment.value("DISPLAY") != nil
            || AccountSupport.Environment.value("WAYLAND_DISPLAY") != nil || isInWindowsSubsystem
        #endif
    }

    /// Whether this process runs in the Windows Subsystem for Linux, where Windows has the browser of the user.
    private static var isInWindowsSubsystem: Bool { AccountSupport.Environment.value("WSL_DISTRO_NAME") != nil }

    /// The browsers in `$BROWSER`, a colon-separated list (sensible-browser(1)). A name with spaces is one program.
    private static var chosenBrowsers: [String] {
        AccountSupport.Environment.value("BROWSER")?.split(separator: ":").map(String.init) ?? []
    }
}
