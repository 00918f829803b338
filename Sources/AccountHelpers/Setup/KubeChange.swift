import AccountCommands
import AccountKit
import AccountSupport

/// Adds a user whose credentials come from this tool to the kubeconfig. kubectl changes the file itself.
struct KubeChange {
    let tool: [String]
    let user: String
    let session: String?

    /// The location of sessions; `nil` for the store in the environment.
    let store: String?

    /// Variables that kubectl must not get.
    let hidden: [String]

    func apply(removing: Bool, onlyPrinting: Bool) async throws -> SetupOutcome {
        guard ExternalProgram.isInstalled("kubectl") else {
            throw AccountError(
                .inaccessible, "kubectl is not installed, and only kubectl can change a kubeconfig",
                hint: "install it first")
        }
        guard let output = await run(["view", "-o", "json"]), let config = JSONText(Array(output.utf8)) else {
            throw AccountError(
                .inaccessible, "kubectl cannot read the kubeconfig", hint: "run `kubectl config view` to see why")
        }
        let isThere = config["users"]?.elements.contains { $0["name"]?.string == user } == true
        let own = KubeSetup(Array(output.utf8)).ownUsers(tool.joined(separator: " ")).first { $0.name == user }
        guard !isThere || own != nil else {
            if removing { return .unchanged("kubectl does not ask this tool for the token of \(user.shown).") }
            throw AccountError(
                .misconfigured, "the kubeconfig has a user \(user.shown) with other credentials",
                hint: "choose another name with --name")
        }
        let command: [String]
        if removing {
            guard own != nil else {
                return .unchanged("kubectl does not ask this tool for the token of \(user.shown).")
            }
            command = ["delete-user", user]
        } else {
            let changes = try own.map { try corrections(of: $0) } ?? entry
            if changes.isEmpty {
                return .unchanged("kubectl already asks this tool for the token of \(user.shown).")
            }
            command = ["set-credentials", user] + changes
        }
        if onlyPrinting {
            let text = (["kubectl", "config"] + command).map(\.shellWord).joined(separator: " ")
            return .shown(text + "\n")
        }
        guard await run(command) != nil else {
            throw AccountError(
                .inaccessible, "kubectl cannot change the kubeconfig",
                hint: "kubectl before 1.30 cannot do this; otherwise run the command that --print shows to see why")
        }
        return .changed(
            removing
                ? "kubectl no longer has the user \(user.shown)."
                : "kubectl asks this tool for the token of the user \(user.shown). Choose it with "
                    + "`kubectl config set-context --current --user=\(user.shellWord)`.")
    }

    private var entry: [String] {
        var arguments = Array(tool.dropFirst()) + ["kube-credential"]
        if let session { arguments.append("--session=\(session)") }
        if let store { arguments.append("--store=\(store)") }
        return [
            "--exec-api-version=client.authentication.k8s.io/v1", "--exec-interactive-mode=Never",
            "--exec-provide-cluster-info", "--exec-command=\(tool[0])",
        ] + arguments.map { "--exec-arg=\($0)" }
    }

    /// Returns what an entry of this tool needs to work. The arguments that the user has added stay.
    func corrections(of own: KubeSetup.User) throws(AccountError) -> [String] {
        guard session == nil || own.arguments.value(of: "--session") == session,
            store == nil || own.arguments.value(of: "--store") == store
        else {
            throw AccountError(
                .misconfigured, "the kubeconfig already has the user \(user.shown) with another session or store",
                hint: "remove it with --remove first, or choose another name with --name")
        }
        var changes: [String] = []
        if own.command.hasPrefix("/"), !ExternalProgram.isInstalled(own.command) {
            changes.append("--exec-command=\(tool[0])")
        }
        if !own.namesCluster, !own.isForAnyCluster { changes.append("--exec-provide-cluster-info") }
        return changes
    }

    private func run(_ arguments: [String]) async -> String? {
        await ExternalProgram.output(of: "kubectl", ["config"] + arguments, hiding: hidden)
    }
}
