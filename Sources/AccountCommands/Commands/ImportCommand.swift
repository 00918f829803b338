import AccountKit
import ArgumentParser

struct ImportCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "import", abstract: "Import the account of an older app.",
            discussion: """
                Reads an archive of NSKeyedArchiver, or a plain property list. The file stays as it is unless \
                --remove-original says otherwise, and then it is removed only after the account was read back.
                """)
    }

    @Argument(help: "The file.")
    var file: String

    @OptionGroup var service: IssuerOptions<App>

    @Flag(help: "Replace the account that is signed in now.")
    var replace = false

    @Flag(help: "Remove the file once its account has been stored and read back.")
    var removeOriginal = false

    @OptionGroup var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "import an account")
        guard let importer = App.importer else {
            throw AccountError(.invalidArgument, "this tool has nothing to import")
        }
        if let current = await context.store.load().account, !replace {
            throw AccountError(
                .invalidArgument,
                "\(current.shownName) is signed in: sign out first, or add --replace, or choose another --session")
        }
        var imported = try importer(file)
        if App.acceptsIssuer {
            imported.account.issuer = service.issuer ?? imported.account.issuer
            imported.account.credentials.clientID = service.clientID ?? imported.account.credentials.clientID
        }
        let account = imported.account
        try await context.store.signIn { account }

        // Reads it back with nothing in memory, as the next start will.
        let state = try await context.archive(of: context.session).load()
        guard state.account == account else {
            throw AccountError(.damaged, "the account was stored, and came back changed: \(file) was left alone")
        }
        if removeOriginal {
            do {
                try SystemCall.remove(file)
            } catch {
                throw AccountError(
                    .inaccessible,
                    "the account was imported, but \(file) could not be removed: remove it yourself, it holds the old account",
                    cause: error)
            }
        }
        for warning in imported.warnings { Terminal.say("note: \(warning)") }
        if options.json {
            try JSONDocument.print(StateDocument(state, session: context.session))
        } else {
            Terminal.say("Imported \(account.shownName) from \(file).")
        }
        // Of the sign-in that this one replaced.
        await context.deliverRevocations()
    }
}
