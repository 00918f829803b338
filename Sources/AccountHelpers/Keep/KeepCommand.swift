import AccountCommands
import AccountKit
import ArgumentParser

struct KeepCommand<App: AccountApplication>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "keep", abstract: "Keep a valid token in a file.",
            discussion: """
                Use this command for programs that read a token from a file. Only you can read the file. The file \
                contains the token without a newline. `keep` replaces the file atomically, long before the token \
                expires, and never replaces a file that `keep` did not write; a hidden file next to the token file \
                records which tokens `keep` wrote. If you are offline, the file stays while its token is valid. `keep` \
                removes the file when the session ends, when the token expires, and when `keep` stops. A new sign-in \
                recreates the file. The command runs until it is stopped; it can also run as a systemd service.

                  \(CommandLine.toolName) keep --file /run/user/1000/notes.token
                  \(CommandLine.toolName) keep --once --file /run/user/1000/notes.token
                """)
    }

    @Option(
        help: ArgumentHelp(
            "File to write, in an existing folder (default: SESSION.token in the app's folder in $XDG_RUNTIME_DIR).",
            valueName: "path"), completion: .file())
    var file: String?

    @Flag(
        name: .customLong("id-token"),
        help: "Write the OpenID Connect ID token while it is valid, instead of an access token.")
    var isIDToken = false

    @Flag(help: "Update the file once, leave it in place, and exit.")
    var once = false

    @OptionGroup(title: "Common options") var options: CommonOptions

    private struct Document: Encodable {
        var session: String
        var file: String
        var expiresAt: String?
    }

    func run() async throws {
        try await perform({ try CommandContext(options, isInteractive: false) }) { try await run(in: $0) }
    }

    private func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "keep a token of the archive in a file")
        // A file that contains one of the session's own tokens can be replaced without loss.
        let credentials = await context.store.load().account?.credentials
        let known = [credentials?.accessToken, credentials?.idToken].compactMap(\.self)
        let file =
            try file.map { path throws(AccountError) in try TokenFile(path: path, knownTokens: known) }
            ?? TokenFile.place(of: context.session, in: context.container, knownTokens: known)
        for warning in file.warnings { Terminal.say("\(context.tool): \(warning)") }
        let clock = SystemWallClock()
        let kind = isIDToken ? KeptToken.Kind.id : .access
        var host: KeepHost?
        var loop = try KeepLoop(store: context.store, file: file, kind: kind, clock: clock) {
            try context.authority(of: $0)
        } surroundings: { inputs in
            if !once { try EndSignals.receive { inputs.yield(.signal($0)) } }
            let made = KeepHost(path: file.path, hint: context.hint, isOnce: once, clock: clock) {
                inputs.yield(.alarm)
            }
            host = made
            return made
        }
        loop.afterRefresh = { await context.deliverRevocations(to: $0.issuer) }
        let end = await loop.run(isOnce: once)
        switch end {
        case .served:
            // The token is still valid, but it was not refreshed.
            if let failure = host?.failure { Terminal.say("\(context.tool): \(failure)") }
            guard options.json else { return }
            let token = try context.store.account.map { try KeptToken(kind, of: $0.credentials, in: context.session) }
            try JSONDocument.print(
                Document(
                    session: context.session.rawValue, file: file.path,
                    expiresAt: token?.expiresAt.map(StateText.iso)))
        case .failed(nil): _ = try await context.signedInAccount()
        case .failed(let error?): throw error
        case .signal(let number):
            EndSignals.restore()
            SignalGuard.endProcess(by: number)
        }
    }
}
