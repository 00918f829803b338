@testable import EndToEndSupport
import Foundation
import Testing

/// `account kube-credential`, run by the official Kubernetes client and run directly.
@Suite(.queued)
struct KubernetesTests {
    private static let group = "client.authentication.k8s.io/"

    private struct Answer: Decodable {
        struct Status: Decodable {
            let token: String
            let expirationTimestamp: String?
        }

        let apiVersion: String
        let kind: String
        let status: Status
    }

    private func answer(_ outcome: Outcome) throws -> Answer {
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return try JSONDecoder().decode(Answer.self, from: Data(outcome.output.utf8))
    }

    // MARK: The official client

    /// Writes a kubeconfig for a server with a self-signed certificate. The file is JSON, which is valid YAML.
    private func write(
        _ container: Container, server: String, certificate: Certificate, version: String, arguments: [String] = [],
        providesClusterInfo: Bool = false
    ) throws -> String {
        let options = providesClusterInfo ? [] : ["--any-cluster"]
        let exec: [String: JSON] = [
            "apiVersion": .text(Self.group + version), "command": .text(try BuiltProducts.path(of: "account")),
            "args": .list(["kube-credential"] + options + arguments), "interactiveMode": .text("Never"),
            "provideClusterInfo": .boolean(providesClusterInfo),
            "env": .array([.object(["name": .text("ACCOUNT_HOME"), "value": .text(container.home)])]),
        ]
        let config: [String: JSON] = [
            "apiVersion": .text("v1"), "kind": .text("Config"), "current-context": .text("c"),
            "clusters": .array([
                .object([
                    "name": .text("c"),
                    "cluster": .object([
                        "server": .text(server), "certificate-authority": .text(certificate.path),
                    ]),
                ])
            ]),
            "users": .array([.object(["name": .text("u"), "user": .object(["exec": .object(exec)])])]),
            "contexts": .array([
                .object(["name": .text("c"), "context": .object(["cluster": .text("c"), "user": .text("u")])])
            ]),
        ]
        let path = container.path("kubeconfig-\(UUID().uuidString)")
        try container.write(try JSONEncoder().encode(JSON.object(config)), to: path)
        return path
    }

    private func pods(_ python: String, _ container: Container, _ kubeconfig: String) async throws -> Outcome {
        try await Command(
            words: [python, "-B", BuiltProducts.fixture("kubernetes/client.py"), kubeconfig],
            environment: container.environment
        ).run()
    }

    /// Runs a test with alice signed in, and a cluster that accepts her tokens.
    private func runCluster(
        _ test: (_ user: SignedInUser, _ python: String, _ certificate: Certificate, _ server: String) async throws ->
            Void
    ) async throws {
        try await SignedInUser.run { user in
            let container = user.container
            let python = try await PythonEnvironment.prepare("kubernetes", importing: "kubernetes", in: container)
            let certificate = try await Certificate.make(in: container)
            let words = [
                "python3", "-B", BuiltProducts.fixture("kubernetes/server.py"), "--certificate", certificate.path,
                "--key", certificate.keyPath, "--issuer", user.server.issuer,
            ]
            try await ServerProcess.run(Command(words: words)) { try await test(user, python, certificate, $0) }
        }
    }

    @Test func `The Kubernetes client lists pods or reports why there is no token`() async throws {
        try await runCluster { user, python, certificate, server in
            let container = user.container
            let v1 = try write(container, server: server, certificate: certificate, version: "v1")
            let beta = try write(container, server: server, certificate: certificate, version: "v1beta1")
            let named = try write(
                container, server: server, certificate: certificate, version: "v1", providesClusterInfo: true)
            for kubeconfig in [v1, beta] {
                let outcome = try await pods(python, container, kubeconfig)
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(outcome.output == "notes\n")
            }

            // A cluster that the client names requires a rule.
            let without = try await pods(python, container, named)
            #expect(without.exitCode != 0)
            #expect(without.errors.contains("there is no rule for \(server)"), "\(without)")
            #expect(try await user.account("rule", "add", server).exitCode == 0)
            #expect(try await pods(python, container, named).output == "notes\n")

            #expect(try await user.account("logout").exitCode == 0)
            let signedOut = try await pods(python, container, v1)
            #expect(signedOut.exitCode != 0)
            #expect(signedOut.errors.contains("sign in with `account login`"), "\(signedOut)")
        }
    }

    @Test(arguments: CaptivePortal.allCases)
    func `The Kubernetes client reports a captive portal without a sign-out`(portal: CaptivePortal) async throws {
        try await runCluster { user, python, certificate, server in
            let v1 = try write(user.container, server: server, certificate: certificate, version: "v1")
            try await user.account.refuseToken()
            try await user.server.setFaults(portal.fault)
            let outcome = try await pods(python, user.container, v1)
            #expect(outcome.exitCode != 0, "\(outcome)")
            #expect(outcome.errors.contains(CaptivePortal.reason), "\(outcome)")
            #expect(outcome.errors.contains("you are still signed in"), "\(outcome)")
            #expect(!outcome.errors.contains("account login"), "\(outcome)")

            let plugin = try await ask(user.account, "v1")
            #expect(plugin.exitCode == 69, "\(plugin)")
            #expect(plugin.output == "")
            #expect(plugin.errors.split(separator: "\n").count == 1, "\(plugin)")
            try await user.server.clearFaults()
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
        }
    }

    @Test func `The Kubernetes client reports that the service ended the session`() async throws {
        try await runCluster { user, python, certificate, server in
            let v1 = try write(user.container, server: server, certificate: certificate, version: "v1")
            try await user.account.refuseToken()
            try await user.server.endSessions()
            let outcome = try await pods(python, user.container, v1)
            #expect(outcome.exitCode != 0, "\(outcome)")
            #expect(outcome.errors.contains("ended this session"), "\(outcome)")
            let plugin = try await ask(user.account, "v1")
            #expect(plugin.exitCode == 77, "\(plugin)")
            #expect(plugin.output == "")
            #expect(try await user.account("whoami", "--offline").exitCode == 77)
        }
    }

    // Run only the plugin fifty times, since starting fifty Python interpreters would take too long.
    @Test func `Fifty runs of kube-credential with a rejected token refresh once`() async throws {
        try await runCluster { user, python, certificate, server in
            try await user.account.refuseToken()
            try await user.server.expireTokens()
            try await user.server.clearLog()
            let tokens = try await withThrowingTaskGroup { group in
                for _ in 1...50 { group.addTask { try answer(try await ask(user.account, "v1")).status.token } }
                var tokens: Set<String> = []
                for try await token in group { tokens.insert(token) }
                return tokens
            }
            #expect(tokens.count == 1)
            let v1 = try write(user.container, server: server, certificate: certificate, version: "v1")
            #expect(try await pods(python, user.container, v1).output == "notes\n")
            let log = try await user.server.log()
            #expect(log["refreshes"] == 1)
            #expect(log["reuseAlarms"] == 0)
        }
    }

    // MARK: Without the client

    private func ask(
        _ account: Tool, _ version: String? = nil, server: String? = nil, _ arguments: String...
    ) async throws -> Outcome {
        var tool = account
        if let version {
            let spec = server.map { #","cluster":{"server":"\#($0)"}"# } ?? ""
            tool = tool.with(
                "KUBERNETES_EXEC_INFO",
                #"{"kind":"ExecCredential","apiVersion":"\#(Self.group)\#(version)","spec":{"interactive":false\#(spec)}}"#
            )
        }
        let options = server == nil ? ["--any-cluster"] : []
        return try await tool.run(["kube-credential"] + options + arguments)
    }

    @Test func `kube-credential prints no token if the cluster is unknown`() async throws {
        try await SignedInUser.run { user in
            let token = try await user.account.storedToken()
            #expect(try await user.account("rule", "add", "https://k8s.example:6443").exitCode == 0)
            let info = #"{"kind":"ExecCredential","apiVersion":"\#(Self.group)v1","spec":{"interactive":false}}"#
            for account in [user.account, user.account.with("KUBERNETES_EXEC_INFO", info)] {
                for arguments in [[], ["--session", "default"], ["--id-token"]] {
                    let outcome = try await account.run(["kube-credential"] + arguments)
                    #expect(outcome.exitCode == 78, "\(outcome)")
                    #expect(outcome.output == "")
                    #expect(outcome.errors.contains("--exec-provide-cluster-info"), "\(outcome)")
                    #expect(outcome.errors.contains("--any-cluster"), "\(outcome)")
                    #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome)")
                }
                let any = try answer(try await account("kube-credential", "--any-cluster"))
                #expect(any.status.token == token)
            }
            // With --any-cluster, a cluster needs no rule.
            let unruled = try await ask(user.account, "v1", server: "https://k8s.example", "--any-cluster")
            #expect(try answer(unruled).status.token == token)
        }
    }

    @Test func `kube-credential --help explains cluster information and rules`() async throws {
        try await Container.run { container in
            let help = try await Tool.account(in: container)("kube-credential", "--help")
            #expect(help.output.contains("--exec-provide-cluster-info"), "\(help)")
            #expect(help.output.contains("account rule add https://"), "\(help)")
        }
    }

    @Test func `kube-credential prints token and expiry in the requested API version`() async throws {
        try await SignedInUser.run { user in
            let token = try await user.account.storedToken()
            let end = try await user.account("status", "--json").document().expiresAt
            for version in ["v1", "v1beta1"] {
                let answer = try answer(try await ask(user.account, version))
                #expect(answer.apiVersion == Self.group + version)
                #expect(answer.kind == "ExecCredential")
                #expect(answer.status.token == token)
                #expect(answer.status.expirationTimestamp == end)
            }
            #expect(try answer(try await ask(user.account)).apiVersion == Self.group + "v1")
            #expect(
                try answer(try await ask(user.account, nil, "--api-version", "v1beta1")).apiVersion == Self.group
                    + "v1beta1")
            // The requested version takes precedence over `--api-version` in the kubeconfig.
            #expect(
                try answer(try await ask(user.account, "v1", "--api-version", "v1beta1")).apiVersion == Self.group
                    + "v1")

            for outcome in [
                try await ask(user.account, "v1alpha1"), try await ask(user.account, nil, "--api-version", "v2"),
                try await user.account.with("KUBERNETES_EXEC_INFO", "{}")("kube-credential", "--any-cluster"),
            ] {
                #expect(outcome.exitCode == 64, "\(outcome)")
                #expect(outcome.output == "")
            }
        }
    }

    @Test func `kube-credential prints the token of the cluster rule's session`() async throws {
        try await SignedInUser.run { user in
            try await user.signIn(session: "work")
            #expect(
                try await user.account("rule", "add", "https://k8s.example:6443", "--session", "work").exitCode == 0)
            let work = try await user.account.storedToken(session: "work")
            #expect(
                try answer(try await ask(user.account, "v1", server: "https://k8s.example:6443")).status.token == work)
            #expect(
                try answer(try await ask(user.account, "v1", server: "https://K8S.example:6443/", "--session", "work"))
                    .status.token == work)
            for server in [
                "https://k8s.example", "https://k8s.example:6443@evil.example", "http://k8s.example:6443", "x",
            ] {
                let outcome = try await ask(user.account, "v1", server: server)
                #expect(outcome.exitCode == 77, "\(outcome)")
                #expect(outcome.output == "")
            }
            let other = try await ask(user.account, "v1", server: "https://k8s.example:6443", "--session", "default")
            #expect(other.exitCode == 64)
            #expect(other.output == "")
        }
    }

    @Test func `Offline with a rejected token, kube-credential keeps the session`() async throws {
        try await SignedInUser.runWithoutServer { account, _, _ in
            #expect(try answer(try await ask(account, "v1")).status.token == (try await account.storedToken()))
            try await account.refuseToken()
            let outcome = try await ask(account, "v1")
            #expect(outcome.exitCode == 69, "\(outcome)")
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("you are still signed in"))
        }
    }

    // MARK: ID tokens

    @Test func `kube-credential prints an ID token with the expiry of that token`() async throws {
        try await SignedInUser.run { user in
            let first = try answer(try await ask(user.account, "v1", "--id-token"))
            let end = try #require(first.status.expirationTimestamp)
            let seconds = Int(try Date(end, strategy: .iso8601).timeIntervalSince1970)
            #expect(try claims(of: first.status.token)["exp"] == .integer(seconds))
            #expect(first.status.token != (try await user.account.storedToken()))
            #expect(try await user.server.log()["refreshes"] == 0)

        }
    }

    @Test func `kube-credential refreshes once and prints no expired ID token`() async throws {
        try await SignedInUser.run { user in
            let clock = try await WrongClock(in: user.container)
            func ask(ahead seconds: Int) async throws -> Outcome {
                try await clock.run(user.account, ahead: seconds, ["kube-credential", "--any-cluster", "--id-token"])
            }
            let old = try answer(try await ask(ahead: 0)).status.token
            let new = try user.server.idToken(until: .now.addingTimeInterval(8000))

            // This service issues no ID token on a refresh. AccountKit refreshes once, and prints the old ID token
            // while that token is valid.
            for _ in 1...2 { #expect(try answer(try await ask(ahead: 3580)).status.token == old) }
            #expect(try await user.server.log()["refreshes"] == 1)
            for _ in 1...2 {
                let outcome = try await ask(ahead: 3700)
                #expect(outcome.exitCode == 77, "\(outcome)")
                #expect(outcome.output == "")
            }
            #expect(try await user.server.log()["refreshes"] == 2)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")

            // A service that issues an ID token on a refresh.
            try await user.signIn()
            try await user.server.clearLog()
            try await user.server.alter(.token, setting: ["id_token": .text(new)])
            for _ in 1...2 { #expect(try answer(try await ask(ahead: 3700)).status.token == new) }
            #expect(try await user.server.log()["refreshes"] == 1)
        }
        try await SignedInUser.run(byToken: true) { user in
            let none = try await ask(user.account, "v1", "--id-token")
            #expect(none.exitCode == 78, "\(none)")
            #expect(none.output == "")
        }
    }
}
