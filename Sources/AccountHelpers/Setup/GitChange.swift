import AccountCommands
import AccountKit
import AccountSupport

/// Adds the credential helper to git's configuration of the user. git changes the file itself, so it keeps comments and
/// links, and replaces the file atomically.
struct GitChange {
    let tool: String

    /// The location of sessions; `nil` for the store in the environment.
    let store: String?

    private static let setting = "credential.helper"

    private var program: ToolProgram { ToolProgram(String(tool.prefix { $0 != " " })) }

    private func helper(_ program: String, store: String?) -> String {
        "!\(program.shellWord) \(GitSetup.subcommand(of: tool))" + (store.map { " " + "--store=\($0)".shellWord } ?? "")
    }

    /// Returns whether `setup` writes this helper, by this program in any place, and with `store` if it is set.
    func isWritten(_ value: String) -> Bool {
        guard let program = GitSetup.program(of: value, for: tool), self.program.isRun(by: program) else {
            return false
        }
        let written = GitSetup.store(of: value)
        return value == helper(program, store: written) && (store == nil || store == written)
    }

    func apply(removing: Bool, onlyPrinting: Bool) async throws -> SetupOutcome {
        guard ExternalProgram.isInstalled("git") else { throw AccountError(.inaccessible, "git is not installed") }
        // git asks helpers in all its files, but only those in the user's file can be removed.
        let values =
            removing
            ? await run(["-z", "--get-all", Self.setting])?.split(separator: "\0").map(String.init) ?? []
            : await GitSetup.read().helpers.filter { $0.url == nil }.map(\.command)
        let own = values.compactMap { value in GitSetup.program(of: value, for: tool).map { (value, $0) } }
            .filter { program.isRun(by: $0.1) || program.isGone($0.1) }
        let commands: [[String]]
        // A helper that the user or another program added.
        var other: String?
        if removing {
            let written = Set(values.filter(isWritten)).sorted()
            commands = written.map { removal(of: $0) }
            other = own.map(\.0).first { !written.contains($0) }
            if commands.isEmpty, let other {
                throw AccountError(
                    .misconfigured, "git runs `\(other.shown)`, which is not the helper that `setup` writes",
                    hint: "remove it with `\(text(removal(of: other)))`")
            }
        } else {
            // A helper at a path that no longer exists does not work.
            let working = own.filter { program.isInstalled($0.1) }.map(\.0)
            let works = working.contains { store == nil || GitSetup.store(of: $0) == store }
            guard works || working.isEmpty else {
                throw AccountError(
                    .misconfigured, "git already asks this tool for tokens, with another store",
                    hint: "remove that helper with `\(tool) setup git --remove` first")
            }
            commands = works ? [] : [["--add", Self.setting, helper(program.name, store: store)]]
        }
        guard !commands.isEmpty else {
            return .unchanged(
                removing
                    ? "git's configuration of the user does not contain this tool."
                    : "git's configuration already contains this tool.")
        }
        if onlyPrinting { return .shown(commands.map { text($0) + "\n" }.joined()) }
        for command in commands {
            guard await run(command) != nil else {
                if let lock = GitConfigurationLock.found() { throw lock.error }
                throw AccountError(
                    .inaccessible, "git cannot change its configuration",
                    hint: "run `git config --global --list` to see why")
            }
        }
        return .changed(
            removing
                ? other.map { "Removed the helper of `setup`. git still runs `\($0.shown)`." }
                    ?? "Removed this tool from git's configuration."
                : "Added this tool to the credential helpers in git's configuration.")
    }

    private func removal(of value: String) -> [String] { ["--fixed-value", "--unset-all", Self.setting, value] }

    private func text(_ arguments: [String]) -> String {
        (["git", "config", "--global"] + arguments).map(\.shellWord).joined(separator: " ")
    }

    private func run(_ arguments: [String]) async -> String? {
        await ExternalProgram.output(
            of: "git", ["-C", "/", "config", "--global"] + arguments,
            hiding: GitSetup.hiddenVariables)
    }
}
