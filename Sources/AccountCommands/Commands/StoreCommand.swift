import AccountKit
import ArgumentParser

struct StoreCommand<App: AccountApplication>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "store",
            abstract: "Move sign-ins between this machine's files and a store that machines share.",
            subcommands: [StoreMoveCommand<App>.self, StoreCopyCommand<App>.self])
    }
}

struct StoreMoveCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "move", abstract: "Move a sign-in to another store, and leave it marked as moved.",
            discussion: """
                The place that is not named is the one that commands use: that of --store or \(App.storeVariable), else the files of \
                this machine. What is left hands out its access token while that is good, and is never refreshed. If it is \
                interrupted, run it again: it goes on where it was. Nobody may be signed in at the other place.

                  \(CommandLine.toolName) store move --to etcds://a.example:2379,b.example:2379/notes
                  \(CommandLine.toolName) store move --from etcds://a.example:2379,b.example:2379/notes --to file:
                """)
    }

    @Option(help: ArgumentHelp("Where it goes; file: means the files of this machine.", valueName: "url"))
    var to: String?

    @Option(help: ArgumentHelp("Where it is.", valueName: "url"))
    var from: String?

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
        var session: String
        var username: String?
        var from: String
        var to: String
    }

    func validate() throws {
        guard to != nil || from != nil else {
            throw ValidationError("Say where the sign-in goes: --to URL, or --to file: for the files of this machine")
        }
    }

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "move a sign-in")
        let source = from.map { StoreLocation(text: $0, source: "--from") } ?? context.location
        let target = to.map { StoreLocation(text: $0, source: "--to") } ?? context.location
        let (sourceName, targetName) = (context.name(of: source), context.name(of: target))
        let store = try context.archive(of: context.session, at: source)
        let account = try await store.moveSession(
            to: try context.archive(of: context.session, at: target), named: targetName, from: sourceName)
        if options.json {
            try JSONDocument.print(
                Document(
                    session: context.session.rawValue, username: account.username, from: sourceName, to: targetName))
        } else {
            let isShared = target?.isFiles == false
            let use = isShared ? "with --store \(targetName), or \(App.storeVariable)" : "without --store"
            Terminal.say("Moved \(account.shownName) from \(sourceName) to \(targetName). Use it there \(use).")
        }
        // Those stay where they are.
        await context.deliverRevocations(of: store, isRequested: true)
    }
}

/// The former name of `store move`, for scripts that use it. The next version removes it.
struct StoreCopyCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "copy", abstract: StoreMoveCommand<App>.configuration.abstract, shouldDisplay: false)
    }

    @OptionGroup var move: StoreMoveCommand<App>

    var options: CommonOptions { move.options }

    func run(in context: CommandContext<App>) async throws { try await move.run(in: context) }
}
