import AccountKit
import ArgumentParser

/// Of commands that speak another program's protocol: what they print is that program's, and rules choose the session.
struct HelperOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Where sign-ins are kept; else the environment's.", valueName: "url"))
    var store: String?

    @Flag(name: .shortAndLong, help: "Say on standard error what is being done; never shows a token.")
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

/// A command that another program runs to get a token. It never asks anybody anything.
protocol HelperCommand: ContextCommand {
    var helper: HelperOptions { get }
}

extension HelperCommand {
    var options: CommonOptions { helper.common }

    func context(of session: SessionName) throws -> CommandContext<App> {
        try CommandContext(options, session: session, isInteractive: false)
    }
}
