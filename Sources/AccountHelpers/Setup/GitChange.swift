import AccountCommands
import AccountKit
import AccountSupport

/// Adds the credential helper to git's configuration of the user. git changes the file itself, so it keeps comments and
/// links, and replaces the file atomically.
struct GitChange {
    let tool: String

    /// The location of sessions; `nil` for the store in the environment.
    let store: String?

    /// Variables that git must not get.
    let hidden: [String]

    private static let setting = "credential.helper"

    private var helper: String {
        "!\(tool) git-credential" + (store.map { " " + "--store=\($0)".shellWord } ?? "")
    }

    func apply(removing: Bool, onlyPrinting: Bool) async throws -> SetupOutcome {
        guard ExternalProgram.isInstalled("git") else { throw AccountError(.inaccessible, "git is not installed") }
        let values = await run(["--get-all", Self.setting])?.split(separator: "\n").map(String.init) ?? []
        let own = values.filter { GitSetup.program(of: $0, for: tool) != nil }
        let commands: [[String]]
        if removing {
            commands = Set(own).sorted().map { ["--fixed-value", "--unset-all", Self.setting, $0] }
        } else {
            // A helper at a path that no longer exists does not work.
            let working = own.filter { GitSetup.program(of: $0, for: tool).map(ExternalProgram.isInstalled) == true }
            let works = working.contains { store == nil || GitSetup.store(of: $0) == store }
            guard works || working.isEmpty else {
                throw AccountError(
                    .misconfigured, "git already asks this tool for tokens, with another store",
                    hint: "remove that helper with `\(tool) setup git --remove` first")
            }
            commands = works ? [] : [["--add", Self.setting, helper]]
        }
        guard !commands.isEmpty else {
            return .unchanged(
                removing ? "git does not ask this tool for tokens." : "git already asks this tool for tokens.")
        }
        if onlyPrinting { return .shown(commands.map { text($0) + "\n" }.joined()) }
        for command in commands {
            guard await run(command) != nil else {
                throw AccountError(
                    .inaccessible, "git cannot change its configuration",
                    hint: "run `git config --global --list` to see why")
            }
        }
        return .changed(
            removing ? "git no longer asks this tool for tokens." : "git asks this tool for tokens of URLs with a rule."
        )
    }

    private func text(_ arguments: [String]) -> String {
        (["git", "config", "--global"] + arguments).map(\.shellWord).joined(separator: " ")
    }

    private func run(_ arguments: [String]) async -> String? {
        await ExternalProgram.output(
            of: "git", ["-C", "/", "config", "--global"] + arguments,
            hiding: hidden + ["GIT_DIR", "GIT_WORK_TREE"])
    }
}
