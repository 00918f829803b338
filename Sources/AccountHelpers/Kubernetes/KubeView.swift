import AccountCommands
import AccountKit
import AccountSupport

/// What kubectl does with its configuration, as `kubectl config view` shows it: merged from all files in `$KUBECONFIG`,
/// in which the first definition of a name counts.
struct KubeView {
    struct Context: Equatable {
        var name: String
        var user: String
        var cluster: String
    }

    struct Cluster: Equatable {
        var server: String
        var skipsVerification: Bool
    }

    /// The name of the current context; `nil` if none is chosen.
    private(set) var currentContext: String?
    private(set) var contexts: [Context] = []
    private(set) var clusters: [String: Cluster] = [:]

    /// The users whose credentials come from a program.
    let setup: KubeSetup

    /// The users with a token or a password, which kubectl sends without running a program: the setting of each.
    private(set) var credentials: [String: String] = [:]

    /// The arguments that print the configuration. Without `--raw`, kubectl hides secrets.
    static let arguments = ["config", "view", "-o", "json"]

    /// Asks kubectl; `nil` if it cannot read its configuration.
    static func read() async -> KubeView? {
        await ExternalProgram.output(of: "kubectl", arguments).flatMap { KubeView(Array($0.utf8)) }
    }

    /// - Parameter bytes: The output of kubectl.
    init?(_ bytes: [UInt8]) {
        guard let config = JSONText(bytes), config.isObject else { return nil }
        setup = KubeSetup(bytes)
        if let name = config["current-context"]?.string, !name.isEmpty { currentContext = name }
        for entry in config["contexts"]?.elements ?? [] {
            let context = entry["context"]
            contexts.append(
                Context(
                    name: entry["name"]?.string ?? "", user: context?["user"]?.string ?? "",
                    cluster: context?["cluster"]?.string ?? ""))
        }
        for entry in config["clusters"]?.elements ?? [] {
            clusters[entry["name"]?.string ?? ""] = Cluster(
                server: entry["cluster"]?["server"]?.string ?? "",
                skipsVerification: entry["cluster"]?["insecure-skip-tls-verify"]?.boolean == true)
        }
        for entry in config["users"]?.elements ?? [] {
            guard let user = entry["user"] else { continue }
            let setting = ["token", "tokenFile", "username"].first { user[$0]?.string?.isEmpty == false }
            if let setting { credentials[entry["name"]?.string ?? ""] = setting }
        }
    }

    var current: Context? { currentContext.flatMap { name in contexts.first { $0.name == name } } }

    /// Returns the servers that ask for the token of a user: those of its contexts, or else that of the current context,
    /// for which the user can be chosen.
    func servers(of user: String) -> [String] {
        let own = contexts.filter { $0.user == user }
        return (own.isEmpty ? [current].compactMap(\.self) : own).compactMap { clusters[$0.cluster]?.server }
    }

    /// Returns the findings about the users whose credentials come from this tool.
    func findings(_ surroundings: ProgramSurroundings) -> [Finding] {
        setup.ownUsers(surroundings.tool, surroundings.program, in: ".").flatMap { user in
            var findings: [Finding] = []
            if let setting = credentials[user.name] {
                findings.append(
                    Finding(
                        problem:
                            "the user \(user.name.shown) of the kubeconfig also has the setting \(setting), so kubectl "
                            + "never asks this tool",
                        advice: ": run `kubectl config unset \("users.\(user.name).\(setting)".shellWord)`"))
            }
            let own = contexts.filter { $0.user == user.name }
            let choice = "kubectl config set-context --current --user=\(user.name.shellWord)"
            if let current, current.user != user.name {
                let others = own.map { "`kubectl config use-context \($0.name.shellWord)`" }
                findings.append(
                    Finding(
                        problem:
                            "kubectl uses the user \(current.user.shown) in its current context \(current.name.shown), "
                            + "so it does not ask this tool there",
                        advice: ": run " + (others.first ?? "`\(choice)`"), isNote: true))
            } else if current == nil {
                findings.append(
                    Finding(
                        problem: "kubectl has no current context, so it does not use the user \(user.name.shown)",
                        advice: ": choose one with `kubectl config use-context NAME`, and then run `\(choice)`",
                        isNote: true))
            }
            return findings + own.compactMap { finding($0, user, surroundings) }
        }
    }

    /// Reports a cluster that gets no token from this tool.
    private func finding(_ context: Context, _ user: KubeSetup.User, _ surroundings: ProgramSurroundings) -> Finding? {
        guard !user.isForAnyCluster, let cluster = clusters[context.cluster] else { return nil }
        let name = context.cluster.shown
        guard let url = try? RuleURL(cluster.server) else {
            return Finding(
                problem: "the server of the cluster \(name) is not an https URL, so it gets no token",
                advice:
                    ": correct it with `kubectl config set-cluster \(context.cluster.shellWord) --server=https://HOST`")
        }
        guard let rule = surroundings.rules.rules.first(where: { $0.url.covers(url) }) else {
            return Finding(
                problem: "kubectl asks this tool for the token of the cluster \(name), whose server \(url) has no rule",
                advice: ": add one with `\(surroundings.tool) rule add \(url)"
                    + (user.session.map { " --session \($0.shellWord)" } ?? "") + "`")
        }
        let sessions = surroundings.rules.rules.filter { $0.url.covers(url) }.map(\.session.rawValue)
        if let session = user.session, !sessions.contains(session) {
            return Finding(
                problem:
                    "the user \(user.name.shown) of the kubeconfig is for session \(session.shown), but the rule for "
                    + "\(rule.url) is for session \(rule.session), so the cluster \(name) gets no token",
                advice:
                    ": change the rule with `\(surroundings.tool) rule add \(rule.url) --session \(session.shellWord)`")
        }
        guard cluster.skipsVerification else { return nil }
        return Finding(
            problem:
                "kubectl does not verify the certificate of the cluster \(name) (insecure-skip-tls-verify), so it gets "
                + "no token", advice: ": set certificate-authority for this cluster")
    }
}
