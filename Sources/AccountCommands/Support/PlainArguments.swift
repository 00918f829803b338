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
            if try await runPlain(arguments) { endProcess(.success) }
            var command = try await asyncParseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            end(after: error)
        }
        endProcess(.success)
    }

    /// What the parser's own function does, but that what it writes on standard output is checked.
    private static func end(after error: any Error) -> Never {
        let code = exitCode(for: error)
        let text = fullMessage(for: error)
        guard !text.isEmpty else { endProcess(code) }
        guard code == .success else {
            Terminal.say(text)
            endProcess(code)
        }
        do {
            try Terminal.printText(text + "\n")
        } catch let error as AccountError {
            Terminal.say("\(CommandLine.arguments.toolName): \(error)")
            endProcess(ExitStatus.code(of: error))
        } catch {
            SignalGuard.endProcessByClosedPipe()
        }
        endProcess(code)
    }

    /// Runs a command line that is understood without the parser, which takes several times as long as the command does.
    ///
    /// That is `whoami` and `token` as shell prompts and scripts have them. All the rest, and everything that is wrong, is the
    /// parser's.
    ///
    /// - Returns: `false` if the command line is another one; then nothing was done.
    package static func runPlain(_ arguments: [String]) async throws -> Bool {
        if let command = WhoAmICommand<App>(plain: arguments) {
            try await command.run()
        } else if let command = TokenCommand<App>(plain: arguments) {
            try await command.run()
        } else {
            return false
        }
        return true
    }
}

extension WhoAmICommand {
    /// What the parser would make of the arguments; `nil` if it should be asked.
    init?(plain arguments: [String]) {
        guard arguments.first == "whoami" else { return nil }
        self.init()
        options = .none
        (offline, verify, maxAge) = (false, false, 900)
        var rest = arguments.dropFirst()
        while let argument = rest.popFirst() {
            switch argument {
            case "--offline": offline = true
            case "--verify": verify = true
            case "--max-age":
                guard let seconds = rest.popNumber() else { return nil }
                maxAge = seconds
            default: guard options.take(argument, &rest) else { return nil }
            }
        }
        // The parser says what is wrong.
        do { try validate() } catch { return nil }
    }
}

extension TokenCommand {
    /// What the parser would make of the arguments; `nil` if it should be asked.
    init?(plain arguments: [String]) {
        guard arguments.first == "token" else { return nil }
        self.init()
        options = .none
        minValidity = nil
        var rest = arguments.dropFirst()
        while let argument = rest.popFirst() {
            switch argument {
            case "--min-validity":
                guard minValidity == nil, let seconds = rest.popNumber() else { return nil }
                minValidity = seconds
            default: guard options.take(argument, &rest) else { return nil }
            }
        }
        do { try validate() } catch { return nil }
    }
}

extension CommonOptions {
    /// The options if none is given.
    fileprivate static var none: CommonOptions {
        var options = CommonOptions()
        (options.session, options.json, options.verbose) = (nil, false, false)
        return options
    }

    /// Understands an option; `false` if it is another one, or not all there.
    fileprivate mutating func take(_ argument: String, _ rest: inout ArraySlice<String>) -> Bool {
        switch argument {
        case "--json": json = true
        case "--session":
            guard session == nil, let name = rest.popValue() else { return false }
            session = name
        default: return false
        }
        return true
    }
}

extension ArraySlice<String> {
    /// The next argument, if it is no option.
    fileprivate mutating func popValue() -> String? {
        guard let value = popFirst(), !value.hasPrefix("-") else { return nil }
        return value
    }

    fileprivate mutating func popNumber() -> Double? { popValue().flatMap(Double.init) }
}

/// A free function, since the parser's commands have a function of that name.
private func endProcess(_ code: ExitCode) -> Never { exit(code.rawValue) }
