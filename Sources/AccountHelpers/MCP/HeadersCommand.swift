import AccountCommands
import AccountKit
import ArgumentParser

struct HeadersCommand<App: AccountApplication>: HelperCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "headers", _superCommandName: "account",
            abstract: "Print the header fields for a URL as a JSON object; other programs run this.",
            discussion: """
                For programs that get header fields from a command. A URL gets a token if it has a rule; see \
                `\(CommandLine.toolName) rule`.

                  \(CommandLine.toolName) rule add https://api.example.com --session work
                  \(CommandLine.toolName) headers https://api.example.com/mcp
                """)
    }

    @Argument(help: "URL that the program requests.")
    var url: String

    @OptionGroup var helper: HelperOptions

    var reportsOnOneLine: Bool { false }

    func run() async throws {
        var url: RequestURL?
        var rule: Rule?
        try await perform {
            let parsed = try RequestURL(self.url)
            url = parsed
            let found = try parsed.rule(in: Preferences(container: try App.container()))
            rule = found
            return try context(of: found.session)
        } _: { context in
            try url?.ruled.checkStaysHere()
            let store = try context.helperStore()
            try await context.signedInAccount(in: store).credentials.checkIsBearer(context.hint)
            let sender = url.map { RuledSender<App>(url: $0, options: options) }
            let program = AskingProgram(place: self.url) { await sender?.check() }
            let token = try await context.helperToken(for: rule, of: program).token
            await sender?.finishPendingRequests()
            try JSONDocument.print(["Authorization": "Bearer \(token.reveal())"])
        }
    }
}
