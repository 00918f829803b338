import AccountCommands
import AccountKit
import AccountSupport
import ArgumentParser

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
        let output = try MCPOutput(descriptor: 1)
        let messages = try MCPInput(descriptor: 0)
        try EndSignals.receive { end.yield(.signal($0)) }
        let bridge = MCPBridge(
            url: url, send: { try await sender.send($0) },
            write: { if await !output.write($0) { end.yield(.output) } },
            say: { Terminal.say("\(CommandLine.toolName): \($0)") })
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
        for await event in ends {
            if case .input = event {
                // A signal can still end the wait for responses.
                Task {
                    await bridge.finish(grace: Self.grace)
                    end.finish()
                }
                continue
            }
            if case .signal(let number) = event { signal = number }
            await bridge.finish(grace: .zero)
            end.finish()
        }
        await sender.finishPendingRequests()
        guard let signal else { return }
        EndSignals.restore()
        SignalGuard.endProcess(by: signal)
    }
}
