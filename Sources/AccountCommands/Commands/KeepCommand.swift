import AccountKit
import ArgumentParser

struct KeepCommand<App: AccountApplication>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "keep", abstract: "Keep a file that always has a good token in it.",
            discussion: """
                For programs that read a token from a file, whenever they need it. The file is for you only, has the token and \
                no newline, and is replaced as a whole, long before the token expires. A file that this command did not write is \
                never replaced; a hidden file beside it remembers what was written. Offline, it stays as long as its token \
                is good. It is removed when the sign-in or the token ends, and when this command is ended; a sign-in brings \
                it back. Runs until it is ended, as a service of systemd too (account-keep@SESSION.service).
                """)
    }

    @Option(
        help: ArgumentHelp(
            "The file; in a folder that is there. By default SESSION.token in the app's folder below $XDG_RUNTIME_DIR.",
            valueName: "path"), completion: .file())
    var file: String?

    @Flag(
        name: .customLong("id-token"),
        help: "The OpenID Connect ID token, as long as it is good, instead of an access token.")
    var isIDToken = false

    @Option(
        name: .customLong("exec"),
        help: ArgumentHelp(
            "A shell command to run when the file was written or removed, or when you have to do something; it gets "
                + "\(App.environmentPrefix)_SESSION, and \(App.environmentPrefix)_EVENT: written, removed or attention.",
            valueName: "hook"))
    var hook: String?

    @Flag(help: "Bring the file up to date, leave it there, and end.")
    var once = false

    @OptionGroup var options: CommonOptions

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
        // A file that holds one of the session's own tokens can be replaced without a loss.
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
            let made = KeepHost(
                path: file.path, hint: context.hint, hook: hook, prefix: App.environmentPrefix,
                hiding: App.keyVariables, alarm: once ? nil : try WallAlarm(inputs), clock: clock)
            host = made
            return made
        }
        loop.afterRefresh = { await context.deliverRevocations(to: $0.issuer) }
        let end = await loop.run(isOnce: once)
        await host?.finish()
        switch end {
        case .served:
            // It is good enough, but not new.
            if let failure = host?.failure { Terminal.say("\(context.tool): \(failure)") }
            guard options.json else { return }
            let token = try context.store.account.map { try KeptToken(kind, of: $0.credentials, in: context.session) }
            try JSONDocument.print(
                Document(
                    session: context.session.rawValue, file: file.path,
                    expiresAt: token?.expiresAt.map(StateText.date)))
        case .failed(nil): _ = try await context.signedInAccount()
        case .failed(let error?): throw error
        case .signal(let number):
            WallAlarm.returnSignals()
            SignalGuard.endProcess(by: number)
        }
    }
}
