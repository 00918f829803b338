import AccountCommands
import AccountKit
import AccountSupport
import ArgumentParser

struct ExecCommand<App: AccountApplication>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "exec", abstract: "Run a command with an access token in its environment.",
            discussion: """
                `exec` replaces itself with the command. The command receives signals directly and sets the exit code. Exit \
                code 127 means that the command was not found; exit code 126 means that it cannot be run. Without a \
                token, `exec` does not run the command. The token is not refreshed while the command runs: for commands \
                that outlive the token, see `\(CommandLine.toolName) keep`. The command does not receive anything that \
                opens the archive.

                  \(CommandLine.toolName) exec --env GITHUB_TOKEN -- gh api user
                """)
    }

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp(
            "Variable for the token, instead of \(App.tokenVariable); can be repeated.",
            valueName: "name"))
    var variables: [String] = []

    @Option(
        help: ArgumentHelp(
            "Minimum time for which the token must be valid; see `token`.", valueName: "seconds"))
    var minValidity: Double?

    @OptionGroup(title: "Common options") var options: CommonOptions

    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp(
            "Command to run. Arguments after the command name are passed to it unchanged.", valueName: "command"))
    var words: [String] = []

    func validate() throws {
        for variable in variables where !App.isVariableName(variable) {
            throw ValidationError("--env requires the name of an environment variable, such as GH_TOKEN")
        }
        try minValidity.checkSeconds(of: "--min-validity")
        guard let first = words.first, words != ["--"] else {
            throw ValidationError(
                "the command to run is missing",
                hint: "for example, `\(CommandLine.toolName) exec --env GITHUB_TOKEN -- gh api user`")
        }
        // The parser treats the first unknown word as the command, even if the word is an option.
        if ["--help", "-h"].contains(first) { throw CleanExit.helpRequest(Self.self) }
        if first.hasPrefix("-"), first != "--" { throw ValidationError("Unknown option '\(first.shown)'") }
    }

    func run() async throws {
        let replacement = ProcessReplacement()
        try await perform({ try CommandContext(options, isInteractive: false) }) { context in
            let failure = replacement.run(
                words.first == "--" ? Array(words.dropFirst()) : words, token: try await token(context),
                in: variables.isEmpty ? [App.tokenVariable] : variables)
            Terminal.say(failure.error)
            throw ExitCode(failure.exitCode)
        }
    }

    private func token(_ context: CommandContext<App>) async throws -> Secret {
        var token = App.environmentToken
        if token == nil {
            let account = try await context.signedInAccount()
            try account.credentials.checkIsBearer(context.hint)
            let usable = try await context.withUsableToken(account, minimumValidity: minValidity.seconds)
            // A pending request would not survive the end of this process, and its tokens would be lost.
            await Waiting.toFinish(SignalGuard.shared.timeLeft) { await context.store.finishPendingRequests() }
            let credentials = (context.store.account ?? usable).credentials
            context.warn(ifTokenUntil: credentials.expiresAt, isShorterThan: minValidity)
            try credentials.checkIsBearer(context.hint)
            token = credentials.accessToken
        }
        guard let token, !token.hasNull else {
            throw AccountError(
                .misconfigured, "the token contains a NUL byte, which no variable can contain", hint: "use `token`")
        }
        return token
    }
}

extension Secret {
    fileprivate var hasNull: Bool {
        withBytes { span in span.byteOffsets.contains { span.unsafeLoad(fromByteOffset: $0, as: UInt8.self) == 0 } }
    }
}
