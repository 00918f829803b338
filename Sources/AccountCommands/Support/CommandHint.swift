package import AccountKit
import AccountSupport

/// Formats commands for the user to run. They name the session and the store of the running command, so that they do
/// not affect another session.
package struct CommandHint: Sendable {
    /// The name of these commands on the command line.
    package let tool: String

    package let session: SessionName

    private let options: String

    /// - Parameters:
    ///   - tool: The name of these commands on the command line.
    ///   - session: The session of the commands.
    ///   - isNamed: Whether the commands name the session. Otherwise they use the current session.
    ///   - store: The value of `--store`, if the user passed it.
    package init(tool: String = CommandLine.toolName, session: SessionName, isNamed: Bool = true, store: String? = nil)
    {
        self.tool = tool
        self.session = session
        var options = ""
        if isNamed {
            // Use `=`, because the parser would interpret a separate name with a leading hyphen as an option.
            options += (session.rawValue.hasPrefix("-") ? " --session=" : " --session ") + session.rawValue
        }
        if let store { options += " --store \(store.shellWord)" }
        self.options = options
    }

    /// Returns a command such as `account login --session work`.
    ///
    /// - Parameters:
    ///   - words: The subcommand, with its arguments.
    ///   - others: Further options.
    package func command(_ words: String, _ others: String = "") -> String {
        "\(tool) \(words)\(options)" + (others.isEmpty ? "" : " " + others)
    }
}
