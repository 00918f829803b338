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

    private static let apiVersion = "client.authentication.k8s.io/v1"

    func apply(removing: Bool, onlyPrinting: Bool) async throws -> SetupOutcome {
        guard ExternalProgram.isInstalled("kubectl") else {
            throw AccountError(
                .inaccessible, "kubectl is not installed, and only kubectl can change a kubeconfig",
                hint: "install it first")
        }
        guard let output = await run(Array(KubeView.arguments.dropFirst())), let config = JSONText(Array(output.utf8))
        else {
            throw AccountError(
                .inaccessible, "kubectl cannot read the kubeconfig", hint: "run `kubectl config view` to see why")
        }
        let entry = config["users"]?.elements.first { $0["name"]?.string == user }
        let isThere = entry != nil
        // kubectl does not show which of its files contains the user. In a file, it writes only names and absolute paths.
        let own = KubeSetup(Array(output.utf8))
            .ownUsers(tool.joined(separator: " "), ToolProgram(tool[0]), in: ".").first { $0.name == user }
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
            guard let entry, isWritten(entry) else {
                throw AccountError(
                    .misconfigured,
                    "the user \(user.shown) of the kubeconfig runs this tool, but is not the user that `setup` writes",
                    hint: "remove it with `kubectl config delete-user \(user.shellWord)`")
            }
            command = ["delete-user", user]
        } else {
            let changes = try own.map { try corrections(of: $0) } ?? settings
            if changes.isEmpty {
                return .unchanged("The kubeconfig already contains the user \(user.shown) of this tool.")
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
                : "Added the user \(user.shown), whose token comes from this tool, to the kubeconfig.")
    }

    private var settings: [String] {
        [
            "--exec-api-version=\(Self.apiVersion)", "--exec-interactive-mode=Never", "--exec-provide-cluster-info",
            "--exec-command=\(tool[0])",
        ] + Self.arguments(tool, session: session, store: store).map { "--exec-arg=\($0)" }
    }

    private static func arguments(_ tool: [String], session: String?, store: String?) -> [String] {
        Array(tool.dropFirst()) + ["kube-credential"] + (session.map { ["--session=\($0)"] } ?? [])
            + (store.map { ["--store=\($0)"] } ?? [])
    }

    /// Returns whether `setup` writes this user, by this program in any place, and with `session` and `store` if they
    /// are set. kubectl would remove all other credentials with the user.
    ///
    /// - Parameter entry: A user of the kubeconfig in JSON, with its name.
    func isWritten(_ entry: JSONText) -> Bool {
        // kubectl shows a setting that is not set as null.
        func settings(of object: JSONText?) -> [String: JSONText] {
            let pairs = object?.members.compactMap { member in member.name.string.map { ($0, member.value) } } ?? []
            return Dictionary(pairs) { $1 }.filter { !$0.value.isNull }
        }
        guard let user = entry["user"], Set(settings(of: user).keys) == ["exec"], let exec = user["exec"] else {
            return false
        }
        let names: Set = ["command", "args", "apiVersion", "interactiveMode", "provideClusterInfo"]
        guard Set(settings(of: exec).keys) == names, exec["apiVersion"]?.string == Self.apiVersion,
            exec["interactiveMode"]?.string == "Never", exec["provideClusterInfo"]?.boolean == true,
            let command = exec["command"]?.string, ToolProgram(tool[0]).isRun(by: command)
        else { return false }
        let arguments = exec["args"]?.elements.map(\.string) ?? []
        let set = arguments.compactMap(\.self)
        let (session, store) = (set.value(of: "--session"), set.value(of: "--store"))
        return arguments == Self.arguments(tool, session: session, store: store)
            && (self.session == nil || self.session == session) && (self.store == nil || self.store == store)
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
        await ExternalProgram.output(of: "kubectl", ["config"] + arguments)
    }
}
