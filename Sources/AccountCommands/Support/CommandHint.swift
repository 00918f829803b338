package import AccountKit
import AccountSupport

/// Formats commands for the user to run. These commands include the session and the store of the running command, so
/// that they do not affect another session.
package struct CommandHint: Sendable {
    package let tool: String

    package let session: SessionName

    /// Returns why the service of the session may end sessions that the user did not revoke; `nil` if nothing is known.
    var endedSessionNote: @Sendable () -> String? = { nil }

    private let options: String

    /// If `isNamed` is `false`, the commands use the current session.
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

    /// Returns a text of AccountKit with the name of the tool in its commands.
    package func naming(_ text: String) -> String { text.replacing("`login ", with: "`\(command("login")) ") }

    package func command(_ words: String, _ others: String = "") -> String {
        "\(tool) \(words)\(options)" + (others.isEmpty ? "" : " " + others)
    }
}
