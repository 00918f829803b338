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
        var arguments = Array(CommandLine.arguments.dropFirst())
        // Docker runs the program of this name, which is a link.
        if CommandLine.dockerHelperName(of: CommandLine.arguments) != nil {
            arguments.insert("docker-credential", at: 0)
        }
        do {
            if var command = parsedAlone(arguments) {
                try await command.run()
            } else {
                var command = try await asyncParseAsRoot(arguments)
                // Commands of the parser itself, such as `help`, are synchronous.
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

    /// Like the parser's own function, but a failure to write to standard output is noticed.
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
    /// The commands that scripts call most have a `_superCommandName`: with it, the parser does not look for a request
    /// for a completion script, which only the whole tree can answer.
    ///
    /// - Returns: `nil` for everything else, such as `--help` and mistakes: the whole tree knows what to say.
    static func parsedAlone(_ arguments: [String]) -> (any AsyncParsableCommand)? {
        // Prompts and scripts run these all the time, and parsing would take longer than the rest of the command.
        switch arguments {
        case ["whoami"], ["whoami", "--offline"]: return WhoAmICommand<App>(offline: arguments.count > 1)
        case ["token"]: return TokenCommand<App>(minValidity: nil)
        default: break
        }
        if arguments.count == 2, !arguments[1].hasPrefix("-") {
            if arguments[0] == "git-credential" { return GitCredentialCommand<App>(operation: arguments[1]) }
            if arguments[0] == "docker-credential" { return DockerCredentialCommand<App>(action: arguments[1]) }
        }
        guard let name = arguments.first,
            let subcommand = subcommands.first(where: { $0.configuration.commandName == name }),
            // The whole tree fails for the same reason, and reports it.
            let command = try? subcommand.parseAsRoot(Array(arguments.dropFirst())), type(of: command) == subcommand
        else { return nil }
        return command as? any AsyncParsableCommand
    }
}

/// A free function, since a command has an `exit` of its own.
private func endProcess(_ code: ExitCode) -> Never { exit(code.rawValue) }
