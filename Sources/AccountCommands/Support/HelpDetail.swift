import ArgumentParser

/// How much the help of a command shows.
enum HelpDetail {
    /// Whether the help shows only the commands and options that most users need. The complete help, such as of
    /// `help --all`, is also the source of the manual pages and of the completions.
    @TaskLocal static var isShort = false

    /// The visibility of an option that only the complete help shows.
    static var more: ArgumentVisibility { isShort ? .hidden : .default }

    /// Whether the tree of commands is for a completion script, in which `machine` is a subcommand of `login`; see
    /// ``CompletionScript``.
    @TaskLocal static var generatesCompletions = CommandLine.arguments.contains {
        $0.hasPrefix("--generate-completion-script")
    }
}
