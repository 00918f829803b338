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

/// Optional programs on the machine, which get no secrets of this process and run without a shell.
package enum ExternalProgram {
    /// Returns the environment of a program: that of this process without its secrets.
    ///
    /// - Parameters:
    ///   - values: Variables to set.
    ///   - hidden: More variables that the program must not get.
    private static func environment(
        setting values: [String: String] = [:], hiding hidden: [String] = []
    ) -> Subprocess.Environment {
        var changes: [Subprocess.Environment.Key: String?] = [:]
        for (name, value) in values { changes[.init(stringLiteral: name)] = value }
        for name in SecretVariables.names(hiddenFrom: .other) + hidden {
            changes[.init(stringLiteral: name)] = String?.none
        }
        return .inherit.updating(changes)
    }

    package static func isInstalled(_ program: String) -> Bool { InstalledProgram(program) != nil }

    /// Returns the output of a program; `nil` if there is no such program, if it fails, or if it prints more than 4
    /// MiB. Other users of the machine can read the arguments, but not `input` or `values`, the variables to set.
    /// `hidden` names more variables that the program must not get, in addition to the secrets of this process.
    package static func output(
        of program: String, _ arguments: [String], input: String = "", setting values: [String: String] = [:],
        hiding hidden: [String] = []
    ) async -> String? {
        // A program that ends before reading its input must not end this process.
        if !input.isEmpty { signal(SIGPIPE, SIG_IGN) }
        let result = try? await run(
            .name(program), arguments: Arguments(arguments),
            environment: environment(setting: values, hiding: hidden),
            input: .inputWriter, output: .string(limit: 4 << 20), error: .discarded
        ) { execution in
            // A program need not read its input.
            if !input.isEmpty { _ = try? await execution.standardInputWriter.write(input) }
        }
        guard let result, result.terminationStatus.isSuccess else { return nil }
        return result.standardOutput
    }

    /// The programs that may open the browser of the user; see ``BrowserProgram``.
    static var browsers: [BrowserProgram] {
        BrowserProgram.all(
            AccountSupport.Environment.value, isInstalled: isInstalled,
            hidesArguments: { ArgumentPrivacy.current.hidesArguments })
    }

    /// Explains why ``browsers`` is empty; `nil` if the user wants that.
    static var noBrowserText: String? {
        let chosen = AccountSupport.Environment.value("BROWSER")
        if let chosen, BrowserProgram.isNone(chosen) { return nil }
        guard chosen != nil, !ArgumentPrivacy.current.hidesArguments else {
            return "note: no program on this machine opens your browser. Open the address yourself."
        }
        return
            "note: the browser is on another machine, and other users of this one can read what a program gets to open there. "
            + "Open the address yourself."
    }

    /// Opens an address with the first of the programs that succeeds. Does not wait for the browser, which may run until the
    /// user closes it. A failure is not an error: the user can open the page manually.
    ///
    /// - Parameter page: A page that redirects to the address; `nil` if none of the programs gets its name.
    static func open(_ address: String, through page: RedirectPage?, with programs: [BrowserProgram]) async {
        var launches: [Launch] = []
        for program in programs {
            switch program.input {
            case .pageURL: launches.append(Launch(program.command(with: page?.url)))
            case .pagePath: launches.append(Launch(program.command(with: page?.path)))
            case .windowsPath:
                guard let page, let path = await output(of: "wslpath", ["-w", page.path]) else { continue }
                launches.append(Launch(program.command(with: String(path.prefix { $0 != "\n" }))))
            case .address: launches.append(Launch(program.command(with: BrowserProgram.harmless(address))))
            case .addressOnInput: launches.append(Launch(program.words, input: address + "\n"))
            }
        }
        launch(firstOf: launches)
    }

    /// A program that outlives the call which starts it.
    package struct Launch: Sendable {
        var words: [String]
        var input: String?

        package init(_ words: [String], input: String? = nil) {
            self.words = words
            self.input = input
        }
    }

    /// Runs the first program that succeeds, and returns immediately. The program may outlive this process, so its output
    /// is discarded. A failure is not an error.
    ///
    /// A thread runs the programs, because a task would wait for each program, and Subprocess never continues a task
    /// whose program it has not started when this process ends.
    package static func launch(firstOf commands: [Launch]) {
        // Without a thread, nothing is launched.
        _ = DedicatedThread.start {
            for command in commands {
                // `env` replaces itself with the program, and accepts a path or a name.
                if ChildProcess.succeeds(["env"] + command.words, input: command.input) { return }
            }
        }
    }

    static var hasBrowser: Bool {
        if let chosen = AccountSupport.Environment.value("BROWSER"), !BrowserProgram.isNone(chosen) { return true }
        #if canImport(Darwin)
        return AccountSupport.Environment.value("SSH_CONNECTION") == nil
        #else
        return BrowserProgram.hasDisplay(AccountSupport.Environment.value)
            || BrowserProgram.isInWindowsSubsystem(AccountSupport.Environment.value)
        #endif
    }
}
