@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// Sessions in a shared store, which `--store` or `ACCOUNT_STORE` selects.
@Suite(.etcd, .queued)
struct StoreTests {
    /// Runs a test with alice signed in at a separate prefix of the store, without an archive file.
    private func run(_ test: (SignedInUser, _ url: String) async throws -> Void) async throws {
        let url = try EtcdServer.shared.url("t\(UUID().uuidString.prefix(8))")
        try await Container.run { container in
            try await ExampleServer.run { server in
                let account = try Tool.account(in: container).with("ACCOUNT_STORE", url)
                let user = SignedInUser(server: server, container: container, account: account)
                try await user.signIn()
                try await server.clearLog()
                try await test(user, url)
            }
        }
    }

    @Test func `Machines share the session of a client without a user`() async throws {
        let url = try EtcdServer.shared.url("t\(UUID().uuidString.prefix(8))")
        try await Container.run { container in
            try await ExampleServer.run(["--client-secret", "s3cret"]) { server in
                let account = try Tool.account(in: container).with("ACCOUNT_STORE", url)
                    .with("ACCOUNT_CLIENT_SECRET", "s3cret")
                let login = try await account(
                    "login", "--issuer", server.issuer, "--client-id", "account-cli", "--client-credentials")
                #expect(login.exitCode == 0, "\(login)")
                try await server.clearLog()
                try await Container.run { other in
                    try copyKey(of: container, to: other)
                    let old = try await account.storedToken()
                    let unnamed = account.with("ACCOUNT_HOME", other.home)
                    let refused = try await unnamed("refresh")
                    #expect(refused.exitCode == 78 && refused.errors.contains("Set ACCOUNT_ISSUER"), "\(refused)")
                    #expect(try await server.log()["/oauth/token"] == 0, "no machine sends its secret by chance")
                    let machine = unnamed.with("ACCOUNT_ISSUER", server.issuer)
                    let refresh = try await machine("refresh")
                    #expect(refresh.exitCode == 0, "\(refresh)")
                    let new = try await account.storedToken()
                    #expect(new != old)
                    #expect(try await machine.storedToken() == new)
                    #expect(try await server.log()["/oauth/token"] == 1)
                }
            }
        }
    }

    /// A client that authenticates for the session, with the variables that name its credentials.
    struct Credential: Sendable, CustomTestStringConvertible {
        let name: String
        let serverOptions: @Sendable (ClientKeyPair) -> [String]
        let login: @Sendable (ClientKeyPair, _ assertion: String) -> [String]
        let variables: @Sendable (ClientKeyPair, _ assertion: String) -> [(String, String)]
        let option: String

        var testDescription: String { name }
    }

    private static func workload(_ source: String) -> [String] {
        ["--workload", source, "--client-id", "account-cli", "--workload-grant", "jwt-bearer"]
    }

    static let credentials = [
        Credential(
            name: "key", serverOptions: { ["--client-public-key", $0.publicKey] },
            login: { keys, _ in
                ["--client-credentials", "--client-id", "account-cli", "--client-key", keys.privateKey]
            }, variables: { keys, _ in [("ACCOUNT_CLIENT_KEY", keys.privateKey)] }, option: "--client-key FILE"),
        Credential(
            name: "file", serverOptions: { _ in WorkloadPlatform.serverOptions },
            login: { _, path in workload("file \(path)") },
            variables: { _, path in [("ACCOUNT_WORKLOAD", "file \(path)")] }, option: "--workload SOURCE"),
        Credential(
            name: "env", serverOptions: { _ in WorkloadPlatform.serverOptions },
            login: { _, _ in workload("env ASSERTION") },
            variables: { _, _ in [("ACCOUNT_WORKLOAD", "env ASSERTION")] }, option: "--workload SOURCE"),
    ]

    @Test(arguments: credentials)
    func `A shared session makes no other machine sign or send`(credential: Credential) async throws {
        let url = try EtcdServer.shared.url("t\(UUID().uuidString.prefix(8))")
        try await Container.run { container in
            let keys = try await ClientKeyPair(in: container)
            try await ExampleServer.run(credential.serverOptions(keys)) { server in
                let path = container.path("assertion")
                let platform = WorkloadPlatform(audience: server.issuer)
                /// Returns the tool with a new assertion, because the server accepts each assertion once.
                func fresh(_ tool: Tool) async throws -> Tool {
                    let assertion = try await platform.assertion()
                    try Data(assertion.utf8).write(to: URL(filePath: path))
                    return tool.with("ASSERTION", assertion)
                }
                let account = try Tool.account(in: container).with("ACCOUNT_STORE", url)
                let login = try await fresh(account).run(
                    ["login", "--issuer", server.issuer] + credential.login(keys, path))
                #expect(login.exitCode == 0, "\(login)")
                try await server.clearLog()
                try await Container.run { other in
                    try copyKey(of: container, to: other)
                    let machine = account.with("ACCOUNT_HOME", other.home)
                    var named = machine
                    for (name, value) in credential.variables(keys, path) { named = named.with(name, value) }
                    for tool in [machine, named.with("ACCOUNT_ISSUER", "https://other.example")] {
                        for words in [["refresh"], ["whoami", "--verify"], ["doctor"]] {
                            let refused = try await fresh(tool).run(words)
                            #expect(refused.exitCode == 78, "\(refused)")
                            let text = (refused.output + refused.errors).split { $0.isWhitespace }.joined(
                                separator: " ")
                            #expect(text.contains("ACCOUNT_ISSUER") && text.contains("--issuer URL"), "\(refused)")
                        }
                        // A machine that only uses the tokens needs no settings.
                        #expect(try await tool("token").exitCode == 0)
                    }
                    let missing = try await fresh(machine)("refresh")
                    #expect(missing.errors.contains(credential.option), "\(missing)")
                    #expect(try await server.log()["/oauth/token"] == 0)

                    let own = named.with("ACCOUNT_ISSUER", server.issuer)
                    let refresh = try await fresh(own)("refresh")
                    #expect(refresh.exitCode == 0, "\(refresh)")
                    // The machine that signed in has named its key or source with an option.
                    let first = try await fresh(account)("refresh")
                    #expect(first.exitCode == 0, "\(first)")
                    #expect(try await server.log()["/oauth/token"] == 2)
                }
            }
        }
    }

    private func copyKey(of container: Container, to other: Container) throws {
        try FileManager.default.createDirectory(
            atPath: other.home + "/Library/Keys", withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try FileManager.default.copyItem(atPath: container.key, toPath: other.key)
    }

    @Test func `A second machine with the key shares the session and the refresh`() async throws {
        try await run { user, url in
            #expect(!FileManager.default.fileExists(atPath: user.container.archive))
            let status = try await user.account("status", "--json").document()
            #expect(status.archive == url)
            // A second machine, which has only the key.
            try await Container.run { other in
                try copyKey(of: user.container, to: other)
                let machine = try Tool.account(in: other)
                #expect(try await machine("whoami").exitCode == 77)
                let whoami = try await machine("whoami", "--store", url)
                #expect(whoami.output == "alice\n", "\(whoami)")

                try await user.server.expireTokens()
                let first = try await user.account("whoami", "--max-age", "0")
                #expect(first.output == "alice\n", "\(first)")
                let second = try await machine("whoami", "--max-age", "0", "--store", url)
                #expect(second.output == "alice\n", "\(second)")
                let token = try await machine("token", "--store", url)
                #expect(token.output == (try await user.account.storedToken()) + "\n")
                let log = try await user.server.log()
                #expect(log["refreshes"] == 1)
                #expect(log["reuseAlarms"] == 0)
            }
        }
    }

    @Test func `--store overrides ACCOUNT_STORE, and file: selects local files`() async throws {
        try await run { user, url in
            let account = user.account
            let none = try await account("whoami", "--store", try EtcdServer.shared.url("nobody"))
            #expect(none.exitCode == 77, "\(none)")
            let files = try await account("whoami", "--store", "file:")
            #expect(files.exitCode == 77, "\(files)")
            let status = try await account.with("ACCOUNT_STORE", nil)("status", "--json", "--store", url).document()
            #expect(status.state == "unverified")
            #expect(status.archive == url)
            #expect(try await account("whoami", "--store", url).output == "alice\n")
        }
    }

    @Test func `Commands list, switch, keep and sign out sessions of a shared store`() async throws {
        try await run { user, url in
            try await user.signIn(session: "work")
            let sessions = try await user.account("sessions")
            #expect(sessions.output.contains("* default"), "\(sessions)")
            #expect(sessions.output.contains("  work"), "\(sessions)")
            let files = try await user.account("sessions", "--store", "file:")
            #expect(files.errors.contains("No user is signed in to any session"), "\(files)")
            #expect(try await user.account("switch", "work", "--store", url).exitCode == 0)
            #expect(try await user.account("whoami", "--json").document().session == "work")

            let path = user.container.path("token")
            let keep = try await user.account("keep", "--once", "--file", path, "--store", url)
            #expect(keep.exitCode == 0, "\(keep)")
            #expect(
                try String(contentsOfFile: path, encoding: .utf8)
                    == (try await user.account.storedToken(session: "work")))

            let exec = try await user.account("exec", "--store", url, "--", "printenv", "ACCOUNT_TOKEN")
            #expect(exec.output == (try await user.account.storedToken(session: "work")) + "\n", "\(exec)")
            let kube = try await user.account("kube-credential", "--any-cluster", "--session", "work", "--store", url)
            #expect(kube.exitCode == 0, "\(kube)")

            let logout = try await user.account("logout", "--all", "--store", url)
            #expect(logout.exitCode == 0, "\(logout)")
            #expect(logout.errors.components(separatedBy: "Signed out alice").count == 3, "\(logout)")
            #expect(try await user.account("whoami").exitCode == 77)
            #expect(try await user.server.log()["/oauth/revoke"] > 0)
        }
    }

    @Test func `The error for an invalid store URL names the option or variable`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            for url in ["redis://127.0.0.1/x", "etcd://alice:secret@127.0.0.1/x"] {
                let option = try await account("whoami", "--store", url)
                #expect(option.exitCode == 64, "\(option)")
                #expect(option.errors.contains("--store: this is not the address of a store"), "\(option)")
                #expect(!option.errors.contains("secret"))
                let variable = try await account.with("ACCOUNT_STORE", url)("whoami")
                #expect(variable.exitCode == 64, "\(variable)")
                #expect(variable.errors.contains("ACCOUNT_STORE: this is not the address of a store"), "\(variable)")
            }
            let sessions = try await account("sessions", "--store", "redis://x", "--json")
            #expect(sessions.exitCode == 64)
            #expect(try sessions.document().error?.code == "invalidArgument")
        }
    }

    @Test func `Sends no etcd password to a host that only resembles loopback`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container).with("ETCDCTL_USER", "ci:secret")
            for host in ["127.attacker.example", "127.0.0.1.attacker.example:2379", "localhost,127.attacker.example"] {
                let outcome = try await account("whoami", "--store", "etcd://\(host)/x")
                #expect(outcome.exitCode == 78, "\(outcome)")
                #expect(outcome.errors.contains("AccountKit sends a password only over TLS"), "\(outcome)")
            }
        }
    }

    @Test func `Connects to a store at localhost regardless of name resolution`() async throws {
        try await run { user, url in
            let misled = try user.account.command(["whoami", "--store", url.replacing("127.0.0.1", with: "localhost")])
                .runWhereLocalhostLeads(to: "127.9.9.9", in: user.container)
            let outcome = try await misled.run()
            #expect(outcome.output == "alice\n", "\(outcome)")
        }
    }

    @Test func `A read-only etcd role can read, and a failed write ends no session`() async throws {
        try await EtcdServer.run { etcd in
            try await Container.run { container in
                try await ExampleServer.run { server in
                    let account = try Tool.account(in: container).with("ACCOUNT_STORE", etcd.url("roles"))
                    try await SignedInUser(server: server, container: container, account: account).signIn()
                    for words in [
                        "user add root:r", "user grant-role root root", "user add reader:secret", "role add reader",
                        "role grant-permission --prefix reader read roles/", "user grant-role reader reader",
                        "auth enable",
                    ] {
                        let outcome = try await etcd.control(words)
                        #expect(outcome.exitCode == 0, "\(outcome)")
                    }
                    func run(as user: String?, _ words: String...) async throws -> Outcome {
                        try await account.with("ETCDCTL_USER", user).run(words)
                    }
                    #expect(try await run(as: "reader:secret", "whoami", "--offline").output == "alice\n")
                    // AccountKit does not start a refresh that it cannot store.
                    for (command, exitCode) in [("refresh", 74), ("logout", 78)] {
                        let outcome = try await run(as: "reader:secret", command)
                        #expect(outcome.exitCode == exitCode, "\(outcome)")
                        #expect(outcome.errors.contains("etcdctl role grant-permission"), "\(outcome)")
                    }
                    for (user, advice) in [("reader:wrong", "ETCDCTL_USER to name:password"), (nil, "ETCDCTL_USER")] {
                        let outcome = try await run(as: user, "whoami", "--offline")
                        #expect(outcome.exitCode == 78, "\(outcome)")
                        #expect(outcome.errors.contains(advice), "\(outcome)")
                    }
                    #expect(try await run(as: "root:r", "refresh").exitCode == 0)
                    #expect(try await run(as: "reader:secret", "whoami").output == "alice\n")
                    #expect(try await server.log()["reuseAlarms"] == 0)
                }
            }
        }
    }

    @Test func `An archive copied to another etcd prefix cannot be opened`() async throws {
        let etcd = try EtcdServer.shared
        try await run { user, url in
            let prefix = try #require(url.split(separator: "/").last)
            let entry = "account/default/Account.plist"
            let value = try #require(try await etcd.get("\(prefix)/\(entry)"))
            try await etcd.put("\(prefix)2/\(entry)", base64: value)
            let whoami = try await user.account("whoami", "--json", "--store", url + "2")
            #expect(whoami.exitCode == 65, "\(whoami)")
            #expect(try whoami.document().reason == "wrongKeyOrDamaged")
            #expect(whoami.errors.contains("copied from another place"), "\(whoami)")
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
        }
    }

    @Test func `status and doctor report the known faults of the etcd version`() async throws {
        try await run { user, url in
            let version = try await EtcdServer.shared.version()
            try #require(version.hasPrefix("3.4."), "these are the faults of \(version)")
            let status = try await user.account("status")
            #expect(status.exitCode == 0, "\(status)")
            #expect(status.output.contains("Version     etcd \(version) at 127.0.0.1:"), "\(status)")
            let doctor = try await user.account("doctor")
            #expect(doctor.exitCode == 78, "\(doctor)")
            for outcome in [status, doctor] {
                for words in [
                    "a watch can lose events after a compaction", "a watch can miss the removal of a key",
                    "a read can be stale", "CVE-2026-33413", "CVE-2026-33343", "update etcd to 3.4.42",
                ] {
                    #expect(outcome.output.contains(words), "\(words): \(outcome)")
                }
            }
        }
    }

    @Test func `A tool without shared stores rejects --store and its variable`() async throws {
        try await Container.run { container in
            var gists = try Tool.account(in: container)
            gists = Tool(path: try BuiltProducts.path(of: "gists"), environment: gists.environment)
            gists.environment["GISTS_HOME"] = container.home
            let option = try await gists("account", "whoami", "--store", "etcd://127.0.0.1/x")
            #expect(option.exitCode == 64, "\(option)")
            #expect(option.errors.contains("--store: this tool stores sessions only in files"), "\(option)")
            let variable = try await gists.with("GISTS_STORE", "etcd://127.0.0.1/x")("account", "whoami")
            #expect(variable.exitCode == 64, "\(variable)")
            #expect(variable.errors.contains("GISTS_STORE: this tool stores sessions only in files"), "\(variable)")
        }
    }
}
