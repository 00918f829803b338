import AccountKit

/// Writes commands for the user to run. They name the session and the store that the running command uses, so that they do
/// not reach another session.
struct CommandHint: Sendable {
    /// What the user types for these commands.
    let tool: String

    let session: SessionName

    private let options: String

    /// - Parameters:
    ///   - tool: What the user types for these commands.
    ///   - session: The session that the commands are for.
    ///   - isNamed: Whether the commands name the session. Without it, they use the session that the user has chosen.
    ///   - store: The value of `--store`, if the user gave one.
    init(tool: String = CommandLine.toolName, session: SessionName, isNamed: Bool = true, store: String? = nil) {
        self.tool = tool
        self.session = session
        var options = ""
        if isNamed {
            // A name that begins with a hyphen would be read as an option.
            options += (session.rawValue.hasPrefix("-") ? " --session=" : " --session ") + session.rawValue
        }
        if let store { options += " --store \(store.shellWord)" }
        self.options = options
    }

    /// A command such as `account login --session work`.
    ///
    /// - Parameters:
    ///   - words: The subcommand, with its arguments.
    ///   - others: Further options.
    func command(_ words: String, _ others: String = "") -> String {
        "\(tool) \(words)\(options)" + (others.isEmpty ? "" : " " + others)
    }
}
