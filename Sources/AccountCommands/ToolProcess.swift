public import AccountKit
public import ArgumentParser
import AccountSupport
import CAccountKitShims

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension AccountApplication where Self: AsyncParsableCommand {
    /// Runs a tool marked with `@main`; see `runTool(parsing:)`.
    public static func main() {
        runTool(signIn: "\(CommandLine.programName) account login", orReplaceTokenIn: replacingTokenVariable) {
            arguments in
            // Building a whole tree of commands takes longer than running `account whoami`.
            if arguments.first == "account",
                configuration.subcommands.contains(where: { $0 == AccountCommand<Self>.self }),
                var command = AccountCommand<Self>.parsedAlone(Array(arguments.dropFirst()))
            {
                return try await command.run()
            }
            try await run(asyncParseAsRoot(arguments))
        }
    }
}

extension AsyncParsableCommand where Self: SendableMetatype {
    /// Runs this command with the arguments of the process, and ends the process.
    ///
    /// If one type is both an `AsyncParsableCommand` and an ``AccountApplication``, its `main` calls this method:
    ///
    /// ```swift
    /// @main struct Notes: AsyncParsableCommand, AccountApplication { … }
    /// ```
    ///
    /// Call this method from `main` if the command and the ``AccountApplication`` are separate types.
    ///
    /// A signal, such as SIGINT after Ctrl-C, ends the process immediately, except during a token request. A refresh
    /// token can be used only once, so the process first stores the new token. This applies to stores from
    /// ``AccountApplication/store(session:logger:)`` and to stores with `AccountStore.delaySignals()`. If `run()`
    /// returns or throws during a token request, the process also waits for the request.
    ///
    /// `run()` begins on the main thread. A tool that only prints stored data never starts another thread.
    ///
    /// An `AccountError` is printed after the name of the tool, with its hint on the next line, and its `exitCode` is
    /// the exit code. Errors of the parser are printed in the same format, and end the process with exit code 64.
    ///
    /// If the error, or its cause, is `POSIXError(.EPIPE)`, the reader of standard output does not want more, as in
    /// `notes list | head -1`. SIGPIPE then ends the process without a message, as it ends other tools.
    ///
    /// - Parameter parse: Parses the arguments. By default, the parser builds the whole tree of commands.
    public static func runTool(
        parsing parse: @escaping @Sendable (_ arguments: [String]) async throws -> any ParsableCommand = {
            try await Self.asyncParseAsRoot($0)
        }
    ) -> Never {
        runTool(signIn: "\(CommandLine.programName) account login", orReplaceTokenIn: nil) { arguments in
            try await run(parse(arguments))
        }
    }

    static func run(_ command: any ParsableCommand) async throws {
        var command = command
        if var command = command as? any AsyncParsableCommand {
            try await command.run()
        } else {
            try command.run()
        }
    }

    /// - Parameters:
    ///   - command: The command in the hint of an error that requires a sign-in.
    ///   - variable: The variable of the token that replaces the archive.
    ///   - isAccount: Whether this command is an `AccountCommand`.
    static func runTool(
        signIn command: String, orReplaceTokenIn variable: String?, isAccount: Bool = false,
        _ body: @escaping @Sendable (_ arguments: [String]) async throws -> Void
    ) -> Never {
        accountkit_open_standard_streams()
        accountkit_signals_restore_quit()
        accountkit_signals_report_file_limit()
        MainThreadExecutor.run {
            let code: ExitCode
            let given = GivenArguments(
                Array(CommandLine.arguments.dropFirst()), isAccount: isAccount)
            do {
                try CommandLine.checkArguments()
                try checkHelp(given.words)
                try await body(given.words)
                code = .success
            } catch {
                if error.isClosedPipe {
                    await SignalGuard.shared.finishPendingRequests()
                    SignalGuard.endProcessByClosedPipe()
                }
                var error = error
                if var known = error as? AccountError {
                    known.nameSignIn(command: command, orReplaceTokenIn: variable)
                    error = known
                }
                code = report(error, showingAllHelp: given.showsAllHelp)
            }
            // Wait only after all output.
            await SignalGuard.shared.finishPendingRequests()
            endProcess(code)
        }
    }

    /// Throws an error for `help` with an unknown command, for which the parser would show the help of the parent
    /// command.
    static func checkHelp(_ arguments: [String]) throws {
        guard arguments.first == "help" else { return }
        var subcommands = configuration.subcommands
        // Without subcommands, `help` is an argument.
        guard !subcommands.isEmpty else { return }
        for (index, word) in arguments.dropFirst().enumerated() where !word.hasPrefix("-") {
            let named = subcommands.first { $0._commandName == word || $0.configuration.aliases.contains(word) }
            guard let named else {
                if index == 0, word == "help" { continue }
                throw Suggestion.unknownSubcommand(word, among: subcommands)
            }
            subcommands = named.configuration.subcommands
        }
    }

    /// Returns the help that a user or a command without a subcommand requests.
    static func help(for error: any Error, showingAll showsAll: Bool, tool: String) -> String {
        let complete = helpMessage(for: error)
        var short = HelpDetail.$isShort.withValue(true) { helpMessage(for: error) }
        if let path = HelpText.path(in: complete), path != HelpText.path(in: short) {
            // The short tree lacks the command, so take its path from the complete tree.
            do {
                // The parser returns a command that throws the request for help.
                var command = try parseAsRoot(path.dropFirst() + ["--help"])
                try command.run()
            } catch {
                short = HelpDetail.$isShort.withValue(true) { helpMessage(for: error) }
            }
        }
        return HelpText.shown(short, complete: complete, showsAll: showsAll, tool: tool)
    }

    /// Returns the help with examples that the user can copy.
    private static func helpMessage(for error: any Error) -> String {
        let text = fullMessage(for: error)
        guard text.hasPrefix("OVERVIEW: ") else { return text }
        return HelpText.foldingExamples(of: fullMessage(for: error, columns: 10_000), in: text, HelpText.columns)
    }

    /// Prints an error in the format of all errors, or a requested text such as the help.
    ///
    /// - Returns: The exit code.
    private static func report(_ error: any Error, showingAllHelp showsAll: Bool) -> ExitCode {
        if let error = error as? AccountError {
            Terminal.say(error)
            return ExitCode(error.exitCode)
        }
        // The command has already reported the error. The parser would build the whole tree of commands for no message.
        if let code = error as? ExitCode { return code }
        let code = exitCode(for: error)
        let text = fullMessage(for: error)
        guard !text.isEmpty else { return code }
        guard code == .success || code == .validationFailure else {
            let message = message(for: error)
            // The parser shows an error without a description as Swift does.
            let isSwift = error.ownDescription == nil && message == "\(error)"
            let shown = ArgumentSecrets.given.hidden(in: isSwift ? error.userText : message)
            Terminal.say("\(CommandLine.toolName): \(shown)")
            return code
        }
        guard code == .success else {
            Terminal.say(
                UsageMessage.error(
                    error, in: Array(CommandLine.arguments.dropFirst()), of: Self.self, tool: CommandLine.toolName))
            return code
        }
        do {
            try Terminal.printText(help(for: error, showingAll: showsAll, tool: CommandLine.toolName) + "\n")
            return code
        } catch let error as AccountError {
            Terminal.say(error)
            return ExitCode(error.exitCode)
        } catch {
            SignalGuard.endProcessByClosedPipe()
        }
    }
}

extension AccountStore {
    /// Delays signals that end the process while this store exchanges tokens, so that new tokens are not lost.
    ///
    /// ``AccountApplication/store(session:logger:)`` does this for its stores. Call this method for a store that a tool
    /// creates itself. The signals are SIGINT, SIGTERM, SIGHUP and SIGQUIT. A signal that the process handles or
    /// ignores is not affected. On a terminal, a message shows what the process waits for, and the user can end the
    /// process with a second Ctrl-C.
    ///
    /// A tool that does not use `runTool(parsing:)` must also call `finishPendingRequests()` before it ends.
    public func delaySignals() { observeExchanges(StoreSignalGuard(self)) }
}

extension Error {
    /// Whether the process has written to a pipe whose reader has closed it. A process ignores SIGPIPE after its first
    /// connection.
    var isClosedPipe: Bool {
        let error: any Error = (self as? AccountError)?.cause ?? self
        return (error as? POSIXError)?.code == .EPIPE
    }
}

/// A free function, because commands also have a method `exit`.
private func endProcess(_ code: ExitCode) -> Never { exit(code.rawValue) }
