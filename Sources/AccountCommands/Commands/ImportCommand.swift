import AccountKit
import ArgumentParser

struct ImportCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "import", abstract: "Import the account of an older app.",
            discussion: """
                Reads an NSKeyedArchiver archive or a plain property list. With --remove-original, the command removes \
                the file after it has stored the account and read it back. Otherwise, the file stays unchanged.

                  \(CommandLine.toolName) import ~/Documents/account.archive
                """)
    }

    @Argument(help: "File to import.")
    var file: String

    @OptionGroup var service: IssuerOptions<App>

    @Flag(help: "Replace the current account.")
    var replace = false

    @Flag(help: "Remove the file after its account has been stored and read back.")
    var removeOriginal = false

    @OptionGroup(title: "Common options") var options: CommonOptions

    func run(in context: CommandContext<App>) async throws {
        try context.refuseEnvironmentToken(to: "import an account")
        guard let importer = App.importer else {
            throw AccountError(.invalidArgument, "this tool does not support imports")
        }
        if let current = await context.store.load().account, !replace {
            throw AccountError(
                .invalidArgument,
                "\(current.shownName) is signed in",
                hint: "sign out first, add --replace, or choose another session with --session")
        }
        var imported = try importer(file)
        if App.acceptsIssuer {
            imported.account.issuer = service.issuer ?? imported.account.issuer
            imported.account.credentials.clientID = service.clientID ?? imported.account.credentials.clientID
        }
        let account = imported.account
        try await context.store.signIn { account }

        // Read the account back without cached state, as the next process will.
        let state = try await context.archive(of: context.session).load()
        guard state.account == account else {
            throw AccountError(
                .damaged, "the stored account differs from the imported account; \(file) was not removed")
        }
        if removeOriginal {
            do {
                try SystemCall.remove(file)
            } catch {
                throw AccountError(
                    .inaccessible,
                    "the account was imported, but \(file) cannot be removed",
                    hint: "remove the file yourself, because it contains the old account",
                    cause: error)
            }
        }
        for warning in imported.warnings { Terminal.say("note: \(warning)") }
        if options.json {
            try JSONDocument.print(StateDocument(state, session: context.session))
        } else {
            Terminal.say(.success, "Imported \(account.shownName) from \(file).")
        }
        await context.deliverRevocations()
    }
}
