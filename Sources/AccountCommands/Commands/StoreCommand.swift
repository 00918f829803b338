import AccountKit
import ArgumentParser

struct StoreCommand<App: AccountApplication>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "store",
            abstract: "Move sessions between files on this machine and a store that machines share.",
            subcommands: [StoreMoveCommand<App>.self, StoreCopyCommand<App>.self])
    }
}

struct StoreMoveCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "move", abstract: "Move a session to another store, and mark the source as moved.",
            discussion: """
                If you omit --from or --to, the command uses the current location: --store or \(App.storeVariable), \
                otherwise files on this machine. The session at the source provides its access token until the token \
                expires, but no command refreshes it. If the move is interrupted, run the command again to continue. The \
                destination must not already contain a session.

                  \(CommandLine.toolName) store move --to etcds://a.example:2379,b.example:2379/notes
                  \(CommandLine.toolName) store move --from etcds://a.example:2379,b.example:2379/notes --to file:
                """)
    }

    @Option(help: ArgumentHelp("Destination; file: for files on this machine.", valueName: "url"))
    var to: String?

    @Option(help: ArgumentHelp("Source.", valueName: "url"))
    var from: String?

    @OptionGroup(title: "Common options") var options: CommonOptions

    private struct Document: Encodable {
        var session: String
        var username: String?
        var from: String
        var to: String
    }

    func validate() throws {
        guard to != nil || from != nil else {
            throw ValidationError("Specify the destination: --to URL, or --to file: for files on this machine")
        }
    }

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "move a session")
        let source = from.map { StoreLocation(text: $0, source: "--from") } ?? context.location
        let target = to.map { StoreLocation(text: $0, source: "--to") } ?? context.location
        let (sourceName, targetName) = (context.name(of: source), context.name(of: target))
        let store = try context.archive(of: context.session, at: source)
        if source?.isFiles == false, target?.isFiles != false, App.acceptsIssuer,
            let account = await store.load().account,
            !context.ownClient(of: context.session).agrees(with: account)
        {
            // From now on, commands would trust what another machine has written.
            throw AccountError(
                .misconfigured,
                "the session names another key, audience or source of assertions than the settings of this machine",
                hint: "sign in on this machine with `\(context.tool) login --store file:` instead")
        }
        // During the move, other machines may already use the session.
        if target?.isFiles == false, let account = await store.load().account {
            await context.keepRegistration(of: account)
        }
        let account = try await store.moveSession(
            to: try context.archive(of: context.session, at: target), named: targetName, from: sourceName)
        // Another process may have signed in before the move.
        if target?.isFiles == false { await context.keepRegistration(of: account) }
        if options.json {
            try JSONDocument.print(
                Document(
                    session: context.session.rawValue, username: account.username, from: sourceName, to: targetName))
        } else {
            let isShared = target?.isFiles == false
            let use = isShared ? "with --store \(targetName), or \(App.storeVariable)" : "without --store"
            Terminal.say(
                .success,
                "Moved \(account.shownName) from \(sourceName) to \(targetName). Use the session there \(use).")
        }
        // Pending revocations stay at the source, so deliver them now.
        await context.deliverRevocations(of: store, isRequested: true)
    }
}

/// The former name of `store move`, kept for scripts. The next version removes it.
struct StoreCopyCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "copy", abstract: StoreMoveCommand<App>.configuration.abstract, shouldDisplay: false)
    }

    @OptionGroup var move: StoreMoveCommand<App>

    var options: CommonOptions { move.options }

    func run(in context: CommandContext<App>) async throws { try await move.run(in: context) }
}
