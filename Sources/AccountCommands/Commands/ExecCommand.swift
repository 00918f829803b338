import AccountKit
import ArgumentParser

struct ExecCommand<App: AccountApplication>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "exec", abstract: "Run a command that has an access token in its environment.",
            discussion: """
                The command takes the place of this one: its exit code and what signals do to it are its own. 127 says that \
                there is no such command, 126 that it cannot be run; without a token it is not run. It gets the token as it is \
                now: for what runs longer than the token is good for, see `\(CommandLine.toolName) keep`. Nothing that opens \
                the archive is handed on to it.
                """)
    }

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp(
            "The variable to put the token into, instead of \(App.tokenVariable); may be given several times.",
            valueName: "name"))
    var variables: [String] = []

    @Option(
        help: ArgumentHelp(
            "For how long the token should still be good; see `token`.", valueName: "seconds"))
    var minValidity: Double?

    @OptionGroup var options: CommonOptions

    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp(
            "The command and its arguments. What follows its name is not for this one.", valueName: "command"))
    var words: [String] = []

    func validate() throws {
        for variable in variables where !App.isVariableName(variable) {
            throw ValidationError("--env takes the name of an environment variable, such as GH_TOKEN")
        }
        if let minValidity, minValidity < 0 || !minValidity.isFinite {
            throw ValidationError("--min-validity takes a number of seconds, 0 or more")
        }
        guard let first = words.first, words != ["--"] else {
            throw ValidationError("Say which command to run, such as `\(CommandLine.toolName) exec -- env`")
        }
        // The parser takes what it does not know for the command, and its own options too.
        if ["--help", "-h"].contains(first) { throw CleanExit.helpRequest(Self.self) }
        if first.hasPrefix("-"), first != "--" { throw ValidationError("Unknown option '\(first.shown)'") }
    }

    func run() async throws {
        let replacement = ProcessReplacement()
        try await perform({ try CommandContext(options, isInteractive: false) }) { context in
            let failure = replacement.run(
                words.first == "--" ? Array(words.dropFirst()) : words, token: try await token(context),
                in: variables.isEmpty ? [App.tokenVariable] : variables, hiding: App.keyVariables)
            Terminal.say("\(context.tool): \(failure.text)")
            throw ExitCode(failure.exitCode)
        }
    }

    private func token(_ context: CommandContext<App>) async throws -> Secret {
        var token = App.environmentToken
        if token == nil {
            let usable = try await context.withUsableToken(
                try await context.signedInAccount(), minimumValidity: minValidity.map { .seconds(min($0, 1e12)) })
            // It would not survive the end of this program, and the tokens would be lost.
            await Waiting.toFinish(SignalGuard.shared.timeLeft) { await context.store.finishPendingRequests() }
            let credentials = (context.store.account ?? usable).credentials
            context.warn(ifTokenUntil: credentials.expiresAt, isShorterThan: minValidity)
            token = credentials.accessToken
        }
        guard let token, !token.hasNull else {
            throw AccountError(.misconfigured, "the token has a NUL byte, so that no variable can have it: use `token`")
        }
        return token
    }
}

extension Secret {
    fileprivate var hasNull: Bool {
        withBytes { span in span.byteOffsets.contains { span.unsafeLoad(fromByteOffset: $0, as: UInt8.self) == 0 } }
    }
}
