import AccountCommands
import AccountKit
import AccountSupport
import ArgumentParser

/// The URL and the conditions of a rule.
struct RulePlace: ParsableArguments {
    @Argument(help: "URL, such as https://git.example.com/team; http only for 127.0.0.1, [::1] and localhost.")
    var url: String

    @Option(
        help: ArgumentHelp(
            "User name to use with the token; the rule then excludes URLs with another user name.",
            valueName: "name"))
    var username: String?

    @Option(
        help: ArgumentHelp("Apply the rule only to programs that run in this directory or below.", valueName: "path"),
        completion: .directory)
    var directory: String?

    /// - Parameter command: The command of the hint if the URL has no scheme.
    func ruleURL(for command: String) throws(AccountError) -> RuleURL {
        do {
            return try RuleURL(url)
        } catch {
            // Don't show other text: it may contain a password.
            let shown = url.contains("@") || url.utf8.count > 200 ? "the URL" : "\"\(url.shown)\""
            let hint: String? =
                switch error {
                case .credentials: "name the user with --username"
                case .noScheme:
                    (try? RuleURL("https://" + url)).map { _ in
                        "run `\(CommandLine.toolName) \(command) https://\(url)`"
                    }
                default: nil
                }
            throw AccountError(.invalidArgument, "\(shown) \(error.text)", hint: hint)
        }
    }

    /// Returns the directory as programs see it: without symbolic links.
    static func existing(_ path: String) throws(AccountError) -> String {
        let absolute = absolute(path)
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: absolute, isDirectory: &isDirectory), isDirectory else {
            throw AccountError(.invalidArgument, "there is no directory \(absolute.shown)")
        }
        return absolute
    }

    static func absolute(_ path: String) -> String {
        let whole = path.hasPrefix("/") ? path : WorkingDirectory.path + "/" + path
        let resolved = URL(filePath: whole).standardizedFileURL.resolvingSymlinksInPath().path(percentEncoded: false)
        return resolved.count > 1 && resolved.hasSuffix("/") ? String(resolved.dropLast()) : resolved
    }
}

enum WorkingDirectory {
    /// The path as the kernel reports it: without symbolic links.
    static var path: String { FileManager.default.currentDirectoryPath }
}
