import AccountCommands
import AccountKit
import ArgumentParser

/// Options of commands for which another program's protocol determines the output, and rules determine the session.
struct HelperOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Location of sessions (default: the store in the environment).", valueName: "url"))
    var store: String?

    @Flag(name: .shortAndLong, help: "Log progress to standard error (never includes tokens).")
    var verbose = false

    static var none: HelperOptions {
        var options = HelperOptions()
        options.store = nil
        options.verbose = false
        return options
    }

    var common: CommonOptions {
        var options = CommonOptions.none
        options.store = store
        options.verbose = verbose
        return options
    }
}

/// A command that another program runs to get a token. It never prompts.
protocol HelperCommand: ContextCommand {
    var helper: HelperOptions { get }
}

extension HelperCommand {
    var options: CommonOptions { helper.common }
    var reportsOnOneLine: Bool { true }

    func context(of session: SessionName) throws -> CommandContext<App> {
        try CommandContext(options, session: session, isInteractive: false)
    }
}
