import AccountKit
import ArgumentParser

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension AccountCommand {
    /// Runs the process's command line, writes what comes of it, and ends the process.
    package static func runProcess() async -> Never {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            if var command = parsedAlone(arguments) {
                try await command.run()
            } else {
                var command = try await asyncParseAsRoot(arguments)
                // The parser's own, such as `help`, are not.
                if var command = command as? any AsyncParsableCommand {
                    try await command.run()
                } else {
                    try command.run()
                }
            }
        } catch {
            end(after: error)
        }
        endProcess(.success)
    }

    /// As the parser's own function, but a failure to write to standard output is noticed.
    private static func end(after error: any Error) -> Never {
        let code = exitCode(for: error)
        let text = fullMessage(for: error)
        do {
            if code != .success, !text.isEmpty { Terminal.say(text) }
            if code == .success, !text.isEmpty { try Terminal.printText(text + "\n") }
        } catch let error as AccountError {
            Terminal.say("\(CommandLine.toolName): \(error)")
            endProcess(ExitCode(error.exitCode))
        } catch {
            SignalGuard.endProcessByClosedPipe()
        }
        endProcess(code)
    }

    /// Parses the subcommand that the first word names, without building the whole tree of commands, which takes longer than
    /// most commands do.
    ///
    /// What scripts call most has a `_superCommandName` in its configuration: the parser then does not look for a request of a
    /// completion script, which only the whole tree answers.
    ///
    /// - Returns: `nil` for everything else, such as `--help` and whatever is wrong: the whole tree knows what to say of it.
    static func parsedAlone(_ arguments: [String]) -> (any AsyncParsableCommand)? {
        func parsed<Subcommand: AsyncParsableCommand>(_ subcommand: Subcommand.Type) -> Subcommand? {
            // The whole tree fails for the same reason, and says it.
            try? subcommand.parseAsRoot(Array(arguments.dropFirst())) as? Subcommand
        }
        // What prompts and scripts run all the time is not parsed at all: that would take longer than the rest of it.
        switch arguments {
        case ["whoami"], ["whoami", "--offline"]: return WhoAmICommand<App>(offline: arguments.count > 1)
        case ["token"]: return TokenCommand<App>(minValidity: nil)
        default: break
        }
        guard let name = arguments.first,
            let subcommand = subcommands.first(where: { $0.configuration.commandName == name })
        else { return nil }
        return parsed(subcommand)
    }
}

/// A free function, since the parser's commands have a function of that name.
private func endProcess(_ code: ExitCode) -> Never { exit(code.rawValue) }
