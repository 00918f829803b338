@testable import EndToEndSupport
import Foundation
import Testing

/// `docker-credential-account`, run by skopeo and run directly.
@Suite(.queued)
struct DockerTests {
    private static let notFound = "credentials not found in native keychain\n"

    /// Creates the same link as `make install`, and returns the helper.
    private func helper(_ account: Tool, _ container: Container) throws -> Tool {
        let folder = container.path("bin")
        let link = folder + "/docker-credential-account"
        if !container.exists(link) {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: account.path)
        }
        return Tool(path: link, environment: account.environment)
    }

    private func addRule(_ account: Tool, _ url: String, session: String = "default") async throws {
        let outcome = try await account("rule", "add", url, "--session", session)
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    // MARK: skopeo

    /// skopeo(1) with the helper for some registries.
    private func skopeo(_ container: Container, registries: String...) throws -> Tool {
        let helpers = JSON.object(Dictionary(uniqueKeysWithValues: registries.map { ($0, JSON.text("account")) }))
        let file = container.path("auth.json")
        try container.write(try JSONEncoder().encode(JSON.object(["credHelpers": helpers])), to: file)
        var environment = container.environment
        environment["REGISTRY_AUTH_FILE"] = file
        return Tool(
            path: "env", environment: environment,
            prefix: ["PATH=\(container.path("bin")):\(Command.searchPath)", "skopeo", "--insecure-policy"])
    }

    /// Creates a small image, and returns skopeo's arguments to push the image.
    private func push(of container: Container, to registry: String) async throws -> [String] {
        let image = container.path("image")
        let made = try await Command(words: ["python3", "-B", BuiltProducts.fixture("registry/image.py"), image]).run()
        guard made.exitCode == 0 else { throw Unexpected(made) }
        return ["copy", "--dest-tls-verify=false", "dir:" + image, "docker://\(registry)/team/notes:1"]
    }

    @Test func `skopeo pushes and pulls with the token and sends it to no other host`() async throws {
        try await SignedInUser.run { user in
            let container = user.container
            _ = try helper(user.account, container)
            let token = try await user.account.storedToken()
            try await Registry.run(in: container, username: "alice", password: token) { registry in
                try await GitServer.run(in: container) { other in
                    let elsewhere = String(other.url.dropFirst("http://".count))
                    let skopeo = try skopeo(container, registries: registry, elsewhere)
                    let push = try await push(of: container, to: registry)

                    let without = try await skopeo.run(push)
                    #expect(without.exitCode != 0, "\(without)")
                    try await addRule(user.account, "http://" + registry)
                    let pushed = try await skopeo.run(push)
                    #expect(pushed.exitCode == 0, "\(pushed)")
                    let copy = container.path("copy")
                    let pulled = try await skopeo(
                        "copy", "--src-tls-verify=false", "docker://\(registry)/team/notes:1", "dir:" + copy)
                    #expect(pulled.exitCode == 0, "\(pulled)")
                    #expect(container.exists(copy + "/manifest.json"))

                    let refused = try await skopeo(
                        "inspect", "--tls-verify=false", "docker://\(elsewhere)/team/notes:1")
                    #expect(refused.exitCode != 0, "\(refused)")
                    #expect(try await !other.log().isEmpty)
                    // The header for an empty user name and an empty password, which skopeo sends if it has no
                    // credentials.
                    #expect(try await other.authorizations().allSatisfy { $0 == "Basic Og==" })

                    #expect(try await user.account("logout").exitCode == 0)
                    let signedOut = try await skopeo(
                        "inspect", "--tls-verify=false", "docker://\(registry)/team/notes:1")
                    #expect(signedOut.exitCode != 0)
                    #expect(signedOut.errors.contains("sign in with `account login`"), "\(signedOut)")
                }
            }
        }
    }

    // MARK: Without skopeo

    private struct Credentials: Decodable, Equatable {
        var serverURL: String
        var username: String
        var secret: String

        enum CodingKeys: String, CodingKey {
            case serverURL = "ServerURL"
            case username = "Username"
            case secret = "Secret"
        }
    }

    @Test func `The docker helper prints the user and token for a rule's registry`() async throws {
        try await SignedInUser.run { user in
            try await addRule(user.account, "https://ghcr.io")
            let token = try await user.account.storedToken()
            for server in ["ghcr.io", "https://GHCR.io/v2/\n", "ghcr.io:443\r\n"] {
                let outcome = try await helper(user.account, user.container)("get", input: server)
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(outcome.errors == "")
                let credentials = try JSONDecoder().decode(Credentials.self, from: Data(outcome.output.utf8))
                let shown = server.trimmingCharacters(in: .newlines)
                #expect(credentials == Credentials(serverURL: shown, username: "alice", secret: token))
            }
        }
    }

    @Test func `Prints no docker credentials for a registry that no rule matches`() async throws {
        try await SignedInUser.run { user in
            try await addRule(user.account, "https://ghcr.io")
            for server in [
                "http://ghcr.io", "https://ghcr.io@evil.example", "ghcr.io.evil.example", "ghcr.io:8443", "gһcr.io",
                "ghcr.io\0", String(repeating: "x", count: 1 << 19), "\u{1B}[2J",
            ] {
                let outcome = try await helper(user.account, user.container)("get", input: server)
                #expect(outcome.exitCode == 1)
                #expect(outcome.output == Self.notFound)
            }
        }
    }

    @Test func `The docker helper lists the user of each rule with a session`() async throws {
        try await SignedInUser.run { user in
            let helper = try helper(user.account, user.container)
            let empty = try await helper("list")
            #expect(empty.exitCode == 0 && empty.output == "{}\n", "\(empty)")
            try await addRule(user.account, "https://ghcr.io")
            try await addRule(user.account, "https://registry.gitlab.com")
            try await addRule(user.account, "https://registry.example.com:5000", session: "work")
            let list = try await helper("list")
            #expect(list.exitCode == 0, "\(list)")
            #expect(list.output == #"{"https://ghcr.io/":"alice","https://registry.gitlab.com/":"oauth2"}"# + "\n")
        }
    }

    @Test func `The docker helper stores no password, and erases nothing`() async throws {
        try await SignedInUser.run { user in
            let helper = try helper(user.account, user.container)
            try await addRule(user.account, "https://ghcr.io")
            let token = try await user.account.storedToken()
            let before = try user.container.files()
            func store(_ server: String, _ name: String, _ secret: String) async throws -> Outcome {
                try await helper(
                    "store", input: #"{"ServerURL":"\#(server)","Username":"\#(name)","Secret":"\#(secret)"}"#)
            }
            let own = try await store("ghcr.io", "alice", token)
            #expect(own.exitCode == 0, "\(own)")
            #expect(own.output == "")
            for (server, name, secret) in [
                ("ghcr.io", "alice", "hunter2"), ("ghcr.io", "<token>", token), ("evil.example", "alice", token),
                ("ghcr.io@evil.example", "alice", token),
            ] {
                let foreign = try await store(server, name, secret)
                #expect(foreign.exitCode == 1, "\(foreign)")
                #expect(foreign.output.hasPrefix("account stores no passwords"), "\(foreign)")
                #expect(!foreign.output.contains("hunter2") && !foreign.errors.contains("hunter2"))
            }
            #expect(try await store("", "alice", "x").output == "no credentials server URL\n")
            #expect(try await store("ghcr.io", "", "x").output == "no credentials username\n")
            #expect(try await helper("store", input: "ghcr.io").exitCode == 1)

            let erased = try await helper("erase", input: "ghcr.io\n")
            #expect(erased.exitCode == 0)
            #expect(erased.output == "")
            #expect(erased.errors.contains("account rule remove https://ghcr.io/"), "\(erased)")
            #expect(try await helper("erase", input: "evil.example").exitCode == 0)
            #expect(try user.container.files() == before)
        }
    }

    /// Rejects the current token, as git does if a server rejects the token. The next command that prints the token
    /// refreshes it first.
    private func refuseToken(of account: Tool) async throws {
        try await addRule(account, "https://refuses.example")
        let refusal = "protocol=https\nhost=refuses.example\npassword=\(try await account.storedToken())\n\n"
        let outcome = try await account("git-credential", "erase", input: refusal)
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    @Test func `The docker helper distinguishes signed out, offline and wrong usage`() async throws {
        try await SignedInUser.runWithoutServer { account, container, _ in
            let helper = try helper(account, container)
            try await addRule(account, "https://ghcr.io")
            try await addRule(account, "https://registry.example.com", session: "work")
            #expect(try await helper("get", input: "ghcr.io").exitCode == 0)
            try await refuseToken(of: account)

            let offline = try await helper("get", input: "ghcr.io")
            #expect(offline.exitCode == 1)
            #expect(offline.output.contains("you are still signed in"), "\(offline)")
            #expect(offline.output.split(separator: "\n").count == 1)
            let signedOut = try await helper("get", input: "registry.example.com")
            #expect(signedOut.exitCode == 1)
            #expect(
                signedOut.output
                    == "account: there is no session named work: sign in with `account login --session work`\n")
            #expect(signedOut.errors == signedOut.output)
            #expect(try await helper("get", input: "\n").output == "no credentials server URL\n")
            let unknown = try await helper("forget")
            #expect(unknown.exitCode == 1)
            #expect(unknown.output.hasPrefix("unknown credential action `forget`"))
            #expect(try await helper("version").output.hasPrefix("docker-credential-account "))
        }
    }
}
