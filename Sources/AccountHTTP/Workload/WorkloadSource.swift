package import AccountKit
import AccountSupport

/// The source of the assertions with which a platform identifies a program, such as a CI job or a pod.
///
/// An assertion is a signed token with a short lifetime (RFC 7521). AccountKit requests a new assertion for each token
/// request, and never stores an assertion.
public struct WorkloadSource: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case gitHubActions
        case environment(String)
        case file(String)
        case command([String])
    }

    let kind: Kind

    /// The audience of the assertions (RFC 7523, section 3), for a service that expects another one than its issuer
    /// identifier. AccountKit does not send an assertion that names neither this audience nor the issuer or its token
    /// endpoint.
    public var audience: String?

    private init(_ kind: Kind) { self.kind = kind }

    /// The token service of GitHub Actions. The job requires the permission `id-token: write`.
    public static let gitHubActions = WorkloadSource(.gitHubActions)

    /// The variable `GITLAB_OIDC_TOKEN`, which the job lists in `id_tokens`.
    public static let gitLab = environment("GITLAB_OIDC_TOKEN")

    /// Returns the source for an environment variable.
    public static func environment(_ variable: String) -> WorkloadSource { WorkloadSource(.environment(variable)) }

    /// Returns the source for the first line of a file, such as a projected token of Kubernetes. AccountKit reads the
    /// file for each assertion, and follows symbolic links.
    public static func file(_ path: String) -> WorkloadSource { WorkloadSource(.file(path)) }

    /// Returns the source for the first line that a program prints.
    ///
    /// The program does not get the variables of AccountKit that contain secrets or lead to them, such as `ACCOUNT_KEY`
    /// and `CREDENTIALS_DIRECTORY`.
    ///
    /// - Parameter command: The program and its arguments, without a shell. A name without a path is looked up in
    ///   `$PATH`.
    public static func command(_ command: [String]) -> WorkloadSource { WorkloadSource(.command(command)) }
}

extension WorkloadSource {
    /// Parses the value of `--workload`, such as `github-actions` or `file PATH`. A relative path becomes absolute.
    package init(_ text: String) throws(AccountError) {
        let parts = text.split(separator: " ", maxSplits: 1).map { String($0) }
        var words = parts
        if parts.count == 2 {
            switch parts[0] {
            case "file" where !parts[1].hasPrefix("/"):
                words[1] = FileManager.default.currentDirectoryPath + "/" + parts[1]
            case "command": words = text.split(separator: " ").map { String($0) }
            default: break
            }
        }
        try self.init(words: words)
    }

    /// Creates the source that an archive names.
    package init(words: [String]) throws(AccountError) {
        let arguments = Array(words.dropFirst())
        switch words.first {
        case "github-actions" where arguments.isEmpty: self = .gitHubActions
        case "gitlab" where arguments.isEmpty: self = .gitLab
        case "env" where arguments.count == 1: self = .environment(arguments[0])
        case "file" where arguments.count == 1: self = .file(arguments[0])
        case "command" where !arguments.isEmpty: self = .command(arguments)
        default:
            throw AccountError(
                .invalidArgument, "the source of the workload identity is unknown",
                hint: "use github-actions, gitlab, 'env NAME', 'file PATH' or 'command PROGRAM ARGUMENTS'")
        }
        try check()
    }

    /// The words that ``init(words:)`` reads.
    package var words: [String] {
        switch kind {
        case .gitHubActions: ["github-actions"]
        case .environment(let name): ["env", name]
        case .file(let path): ["file", path]
        case .command(let command): ["command"] + command
        }
    }

    /// Throws an error if a name, path or program is not valid.
    func check() throws(AccountError) {
        let isValid =
            switch kind {
            case .gitHubActions: true
            case .environment(let name): !name.isEmpty && !name.contains { "= \0".contains($0) }
            case .file(let path): path.hasPrefix("/") && !path.contains("\0")
            case .command(let command): command.first?.isEmpty == false && !command.contains { $0.contains("\0") }
            }
        guard !isValid else { return }
        throw AccountError(
            .invalidArgument, "the source of the workload identity is not valid",
            hint: "pass the name of a variable, the absolute path of a file, or a program and its arguments")
    }
}
