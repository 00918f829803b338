import AccountCommands
import AccountKit
import AccountSupport
import ArgumentParser

struct KubeCredentialCommand<App: AccountApplication>: HelperCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "kube-credential", _superCommandName: "account",
            abstract: "Provide a session's token to kubectl, which runs this command.",
            discussion: """
                A cluster gets a token if kubectl names it (`provideClusterInfo: true` in the kubeconfig) and its \
                server has a rule; see `\(CommandLine.toolName) rule`. With --any-cluster, every cluster gets a \
                token. Setup:

                  \(CommandLine.toolName) rule add https://SERVER:6443 --session work
                \(HelpText.folded(setUp))
                """)
    }

    static var setUp: String {
        "kubectl config set-credentials work --exec-api-version=client.authentication.k8s.io/v1 "
            + "--exec-interactive-mode=Never --exec-provide-cluster-info --exec-command=\(CommandLine.toolName.split(separator: " ")[0]) "
            + execArguments.map { "--exec-arg=\($0)" }.joined(separator: " ")
    }

    private static var execArguments: [Substring] {
        CommandLine.toolName.split(separator: " ").dropFirst() + ["kube-credential", "--session=work"]
    }

    @Option(
        help: ArgumentHelp(
            "Version of client.authentication.k8s.io if \(KubernetesExecInfo.variable) does not specify it: v1 or v1beta1.",
            valueName: "version"))
    var apiVersion: String?

    @Flag(help: "Provide the token to any cluster, even without a rule or a name from kubectl.")
    var anyCluster = false

    @Flag(name: .customLong("id-token"), help: "Provide the ID token instead of the access token.")
    var usesIDToken = false

    @Option(help: "Session to use (default: the rule's, or the current session).")
    var session: String?

    @OptionGroup var helper: HelperOptions

    var options: CommonOptions {
        var options = helper.common
        options.session = session
        return options
    }

    func run() async throws {
        var version = KubernetesAPIVersion.v1
        var program = AskingProgram(place: "a cluster")
        var rule: Rule?
        try await perform {
            let info = try Environment.value(KubernetesExecInfo.variable).map { try KubernetesExecInfo($0) }
            if let server = info?.spec?.cluster?.server {
                program = AskingProgram(place: server, keepsTokens: true)
            }
            version = try KubernetesAPIVersion(
                named: info?.apiVersion ?? apiVersion ?? KubernetesAPIVersion.v1.rawValue)
            rule = try self.rule(for: info?.spec?.cluster)
            return try CommandContext(options, session: rule?.session, isInteractive: false)
        } _: { context in
            let token =
                usesIDToken
                ? try await idToken(context, rule)
                : try await context.helperToken(for: rule, of: program)
            try JSONDocument.print(KubernetesExecCredential(token, version: version))
        }
    }

    private func idToken(_ context: CommandContext<App>, _ rule: Rule?) async throws -> HelperToken {
        let account = try await context.signedInAccount()
        let token = try await context.usableIDToken(account) { try rule?.checkSignIn(of: $0, context.hint) }
        return HelperToken(token: token.secret, username: nil, expiresAt: token.expiresAt)
    }

    /// Returns the server's rule; `nil` for the current session if any cluster may receive the token.
    /// Throws an error if the server has no rule, or if kubectl does not verify the server.
    private func rule(for cluster: KubernetesExecInfo.Spec.Cluster?) throws -> Rule? {
        if anyCluster { return nil }
        guard let cluster, let server = cluster.server else {
            throw AccountError(
                .misconfigured,
                "kubectl does not name the cluster, so the cluster gets no token",
                hint: "run `kubectl config set-credentials NAME "
                    + "--exec-provide-cluster-info` for this user of the kubeconfig, or add the argument --any-cluster")
        }
        // An invalid URL matches no rule.
        let url = try? RuleURL(server)
        let rules = try Preferences(container: try App.container()).rules()
        let rule = url.flatMap { rules.rule(for: $0) { WorkingDirectory.path } }
        guard let rule else {
            throw AccountError(
                .notSignedIn,
                "there is no rule for \(url?.description ?? "this server"), so the server gets no token",
                hint:
                    "run `\(CommandLine.toolName) rule add \(url?.origin ?? "https://HOST") --session \(session ?? "NAME")`"
            )
        }
        try url?.checkStaysHere()
        try cluster.checkVerification()
        if let session, session != rule.session.rawValue {
            throw AccountError(
                .invalidArgument,
                "the rule for \(rule.url) is for session \(rule.session), not \(session.shown)",
                hint: "change the rule, or the session in the kubeconfig"
            )
        }
        return rule
    }
}
