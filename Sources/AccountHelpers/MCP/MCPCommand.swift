import AccountCommands
import AccountKit
import AccountSupport
import ArgumentParser
import Synchronization

struct MCPCommand<App: AccountApplication>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "mcp", _superCommandName: "account",
            abstract: "Connect an MCP client to a server that requires a token; the client runs this.",
            discussion: """
                Forwards messages between standard input and output and the Streamable HTTP endpoint at the URL, with \
                the token of the session that a rule allows for the URL; see `\(CommandLine.toolName) rule`. The token \
                is refreshed when necessary. The command never opens a browser. Without a session, each request gets \
                an error that names the command to run.

                  \(CommandLine.toolName) rule add https://api.example.com/mcp --session work
                  \(CommandLine.toolName) setup mcp https://api.example.com/mcp --file ~/.cursor/mcp.json
                """)
    }

    @Argument(help: "URL of the server's MCP endpoint, such as https://api.example.com/mcp.")
    var url: String

    @OptionGroup var helper: HelperOptions

    /// How long to wait for responses after the client has closed standard input.
    private static var grace: Duration { .seconds(30) }

    private enum End: Sendable {
        case input
        case output
        case signal(Int32)
    }

    func run() async throws {
        let sender = RuledSender<App>(url: try RequestURL(url), options: helper.common)
        let (ends, end) = AsyncStream.makeStream(of: End.self)
        let (inputs, input) = AsyncStream.makeStream(of: KeepInput.self)
        let output = try MCPOutput(descriptor: 1)
        let messages = try MCPInput(descriptor: 0)
        _ = try WallAlarm(input)
        let bridge = MCPBridge(url: url) { try await sender.send($0) } write: { line in
            if await !output.write(line) { end.yield(.output) }
        } say: {
            Terminal.say("\(CommandLine.toolName): \($0)")
        }
        Task {
            for await case .signal(let number) in inputs { end.yield(.signal(number)) }
        }
        // Unstructured, so that the tasks of the messages do not share the main thread with blocking work.
        Task {
            var lines = MCPLines(limit: MCPBridge.maximumByteCount)
            for await piece in messages.pieces {
                for line in lines.lines(in: piece) { await bridge.receive(line) }
                messages.take()
            }
            if let line = lines.last() { await bridge.receive(line) }
            end.yield(.input)
        }
        var signal: Int32?
        let finish = Task {
            var isFinishing = false
            for await event in ends {
                switch event {
                case .input where !isFinishing:
                    isFinishing = true
                    Task {
                        await bridge.finish(grace: Self.grace)
                        end.finish()
                    }
                case .input: break
                case .output:
                    await bridge.finish(grace: .zero)
                    return Int32?.none
                case .signal(let number):
                    await bridge.finish(grace: .zero)
                    return number
                }
            }
            return nil
        }
        signal = await finish.value
        await sender.finishPendingRequests()
        guard let signal else { return }
        WallAlarm.returnSignals()
        SignalGuard.endProcess(by: signal)
    }
}

/// Sends requests to a URL with the token that a rule allows. Rules and sessions may change at any time.
final class RuledSender<App: AccountApplication>: Sendable {
    private let url: RequestURL
    private let options: CommonOptions

    /// One context a session, so that all requests share its store.
    private let contexts = Mutex<[SessionName: CommandContext<App>]>([:])

    init(url: RequestURL, options: CommonOptions) {
        self.url = url
        self.options = options
    }

    func send(_ request: ForwardedRequest) async throws -> ForwardedResponse {
        let rule = try url.rule(in: Preferences(container: try App.container()))
        let context = try context(of: rule.session)
        do {
            let store = try context.helperStore()
            let account = try await context.signedInAccount(in: store)
            try account.credentials.checkIsBearer()
            let response = try await context.forwarding(of: account, to: url).forward(request, for: store)
            guard response.status == 401 else { return response }
            throw AccountError(
                .notSignedIn, "\(url.text) rejected the token of session \(rule.session)",
                hint: "check that the session is for this API, and sign in again with `\(context.hint.command("login"))`")
        } catch var error as AccountError {
            if error.code == .notSignedIn, error.hint?.contains("`") != true { error.hint = "run `\(context.hint.command("login"))`" }
            throw error
        }
    }

    private func context(of session: SessionName) throws -> CommandContext<App> {
        if let context = contexts.withLock({ $0[session] }) { return context }
        let made = try CommandContext<App>(options, session: session, isInteractive: false)
        return contexts.withLock { contexts in
            let context = contexts[session] ?? made
            contexts[session] = context
            return context
        }
    }

    func finishPendingRequests() async {
        for context in contexts.withLock({ Array($0.values) }) { await context.finishPendingRequests() }
    }
}

extension CommandContext {
    /// The store with the token that other programs get. A token from the environment replaces the archive only for the
    /// current session, because it belongs to one service.
    func helperStore() throws -> AccountStore {
        guard App.environmentToken != nil else { return store }
        return try App.chosenSession(nil, preferences) == session ? store : archive
    }

    /// Returns the authority that sends requests with the tokens of an account.
    func forwarding(of account: Account, to url: RequestURL) throws -> any ForwardingAuthority {
        // The service of a token from the environment may be unknown, and is not needed, since it is never refreshed.
        let isGiven = account.issuer == nil && App.environmentToken != nil
        let authority =
            isGiven && App.acceptsIssuer
            ? try App.authority(for: AccountService(issuer: url.ruled.origin), timeout: .seconds(10), logger: nil)
            : try authority(of: account)
        guard let authority = authority as? any ForwardingAuthority else {
            throw AccountError(.misconfigured, "this tool cannot send requests with the tokens of its service")
        }
        return authority
    }
}
