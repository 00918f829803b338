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

    @Test func `The Kubernetes client lists pods or reports why there is no token`() async throws {
        try await SignedInUser.run { user in
            let container = user.container
            let python = try await PythonEnvironment.prepare("kubernetes", importing: "kubernetes", in: container)
            let certificate = try await Certificate.make(in: container)
            let words = [
                "python3", "-B", BuiltProducts.fixture("kubernetes/server.py"), "--certificate", certificate.path,
                "--key", certificate.keyPath, "--issuer", user.server.issuer,
            ]
            try await ServerProcess.run(Command(words: words)) { server in
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
    }

    // MARK: Without the client

    private func ask(
        _ account: Tool, _ version: String? = nil, server: String? = nil, isVerified: Bool = true,
        _ arguments: String...
    ) async throws -> Outcome {
        var tool = account
        if let version {
            let spec =
                server.map { #","cluster":{"server":"\#($0)","insecure-skip-tls-verify":\#(!isVerified)}"# } ?? ""
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
            let unverified = try await ask(user.account, "v1", server: "https://k8s.example:6443", isVerified: false)
            #expect(unverified.exitCode == 78 && unverified.output == "", "\(unverified)")
            let other = try await ask(user.account, "v1", server: "https://k8s.example:6443", "--session", "default")
            #expect(other.exitCode == 64)
            #expect(other.output == "")
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
}
