import AccountCommands
import AccountKit
import AccountSupport

/// A URL that requests with a token are sent to. Unlike the URL of a rule, it may have a query.
struct RequestURL: Sendable {
    /// The URL as the user wrote it.
    let text: String

    /// The URL without its query, to find the rule.
    let ruled: RuleURL

    init(_ text: String) throws(AccountError) {
        do {
            ruled = try RuleURL(String(text.prefix { $0 != "?" }))
        } catch {
            // Don't show other text: it may contain a password.
            let shown = text.contains("@") || text.utf8.count > 200 ? "the URL" : "\"\(text.shown)\""
            throw AccountError(.invalidArgument, "\(shown) \(error.text)")
        }
        guard text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), !text.contains("#") else {
            throw AccountError(.invalidArgument, "the query of the URL contains characters that must be encoded")
        }
        self.text = text
    }

    /// Returns the rule that allows the token of a session for this URL. Throws `misconfigured` if there is none.
    func rule(in preferences: Preferences) throws -> Rule {
        if let rule = try preferences.rules().rule(for: ruled, in: { WorkingDirectory.path }) { return rule }
        guard ruled.hasPlainPath else {
            throw AccountError(
                .misconfigured,
                "servers may read the path of \(ruled) in different ways, so only a rule for the whole host allows it",
                hint: "correct the URL")
        }
        throw AccountError(
            .misconfigured, "there is no rule for \(ruled), so it gets no token",
            hint: "run `\(CommandLine.toolName) rule add \(ruled) --session NAME`")
    }
}
