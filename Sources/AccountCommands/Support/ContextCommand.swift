import AccountKit
import AccountSupport
package import ArgumentParser

/// A command that creates its context itself, because its input determines the session.
package protocol ContextCommand: AsyncParsableCommand {
    associatedtype App: AccountApplication

    var options: CommonOptions { get }

    /// Whether an error is reported on one line, because another program shows it.
    var reportsOnOneLine: Bool { get }
}

/// A command whose options determine its context. It reports errors with messages and exit codes.
package protocol AccountSubcommand: ContextCommand {
    func run(in context: CommandContext<App>) async throws
}

extension AccountSubcommand {
    package func run() async throws {
        try await perform({ try CommandContext(options) }) { try await run(in: $0) }
    }
}

extension ContextCommand {
    package var reportsOnOneLine: Bool { false }

    /// Runs a command, reports errors with messages and exit codes, and waits until pending requests are finished.
    ///
    /// If new tokens could not be saved, only `refresh` fails: the token that another command printed is valid.
    package func perform(
        _ makeContext: () throws -> CommandContext<App>?, _ body: (CommandContext<App>) async throws -> Void
    ) async throws {
        let context: CommandContext<App>
        do {
            guard let made = try makeContext() else { return }
            context = made
        } catch {
            say(error)
            throw end(after: error)
        }
        var failure: (any Error)?
        do {
            try await body(context)
        } catch {
            failure = error
            say(context.namingVariable(error), naming: context.hint)
        }
        await context.finishPendingRequests()
        if failure == nil, let store = context.storeWithUnsavedTokens {
            let error = AccountError(
                context.location == nil ? .inaccessible : .storeUnreachable,
                "new tokens could not be stored",
                hint: "run `\(CommandLine.toolName) doctor` to find the cause"
                    + (store.account?.credentials.machine == nil
                        ? ". If the stored tokens were already used, the next refresh ends the session; then sign in again"
                        : ""))
            Terminal.say(error, onOneLine: reportsOnOneLine)
            if self is RefreshCommand<App> { failure = error }
        }
        if let failure { throw end(after: failure) }
    }

    private func say(_ error: any Error, naming hint: CommandHint? = nil) {
        guard var error = error as? AccountError else { return }
        error.nameSignIn(
            command: hint?.command("login") ?? "\(CommandLine.toolName) login",
            orReplaceTokenIn: App.replacingTokenVariable)
        Terminal.say(error, onOneLine: reportsOnOneLine)
        if options.verbose, let cause = error.cause as? SystemCallError {
            Terminal.say("  \(ArgumentSecrets.given.hidden(in: cause.debugDescription))")
        }
        // If writing to standard output fails, ignore it: the message above is on standard error.
        if options.json {
            let message = ArgumentSecrets.given.hidden(in: error.description)
            try? JSONDocument.print(["error": ["code": error.code.rawValue, "message": message]])
        }
    }

    /// Returns the error to throw, unless a signal ends the process here.
    private func end(after error: any Error) -> any Error {
        switch error {
        case is Terminal.ClosedOutput: SignalGuard.endProcessByClosedPipe()
        case let error as AccountError:
            if error.cause is Interruption { SignalGuard.interruptProcess() }
            return ExitCode(error.exitCode)
        default: return error
        }
    }
}
