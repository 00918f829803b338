import ArgumentParser

/// How much the help of a command shows.
enum HelpDetail {
    /// Whether the help shows only the commands and options that most users need. The complete help, such as of
    /// `help --all`, is also the source of the manual pages and of the completions.
    @TaskLocal static var isShort = false

    /// The visibility of an option that only the complete help shows.
    static var more: ArgumentVisibility { isShort ? .hidden : .default }

    /// The visibility of an earlier spelling. Completions offer the options of `login machine` for `login`, because they
    /// regard `machine` as an argument.
    static var earlier: ArgumentVisibility { generatesCompletions ? .default : .private }

    static let generatesCompletions = CommandLine.arguments.contains {
        $0.hasPrefix("--generate-completion-script")
    }
}
