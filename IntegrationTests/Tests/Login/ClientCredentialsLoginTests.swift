@testable import EndToEndSupport
import Foundation
import NIOHTTP1
import Testing

/// Sessions of a client without a user. `MachineSessionTests` tests every response of the service and many processes, and
/// `LoginOptionsTests` the options that require a user.
@Suite(.queued)
struct ClientCredentialsLoginTests {
    private static let secret = "s3cret +&%:ü"
    private static let variable = "ACCOUNT_CLIENT_SECRET"
    private static let note = "This session belongs to a client, not to a user.\n"
    private static let token = "/oauth/token"

    private func run(_ test: (ExampleServer, Tool, Container) async throws -> Void) async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--client-secret", Self.secret]) { server in
                try await test(
                    server, Tool.account(in: container).with(Self.variable, Self.secret), container)
            }
        }
    }

    private func logIn(
        _ account: Tool, _ server: ExampleServer, _ options: [String] = [], input: String = ""
    ) async throws -> Outcome {
        let words = ["login", "machine", "--issuer", server.issuer, "--client-id", "account-cli"]
        return try await account.run(words + options, input: input)
    }

    private func runSignedIn(_ test: (ExampleServer, Tool, Container) async throws -> Void) async throws {
        try await run { server, account, container in
            let login = try await logIn(account, server)
            try #require(login.exitCode == 0, "\(login)")
            try await server.clearLog()
            try await test(server, account, container)
        }
    }

    private struct Document: Decodable {
        struct Account: Decodable {
            let id: String
            let isMachine: Bool?
        }

        let state: String
        let account: Account?
    }

    // MARK: Signing in

    @Test func `Signs in as a client and requests its scopes only`() async throws {
        try await run { server, account, container in
            let login = try await logIn(account, server, ["--scope", "groups", "--resource", "urn:api"])
            #expect(login.exitCode == 0, "\(login)")
            #expect(login.errors.contains("Signed in as the client account-cli at "), "\(login)")
            let whoami = try await account("whoami")
            #expect(whoami.output == "account-cli\n" && whoami.errors == Self.note, "\(whoami)")
            for arguments in [["whoami", "--json"], ["status", "--json"]] {
                let document = try await account.run(arguments).document(Document.self)
                #expect(document.account?.id == "account-cli" && document.account?.isMachine == true)
            }
            #expect(try await account("status").output.contains("account-cli (a client, not a user)"))
            #expect(try await account("doctor").output.contains("belongs to the client account-cli"))
            let token = try await account.storedToken()
            #expect(try await server.accepts(token) == false, "no user has this token")

            #expect(try await account("refresh").exitCode == 0)
            let requests = try await server.log().requests.filter { $0.path == Self.token }
            #expect(requests.count == 2)
            for request in requests {
                #expect(request.grantType == "client_credentials" && request.secret == "client_secret_basic")
                #expect(request.scope == "groups" && request.resource == "urn:api")
            }
            for (path, entry) in try container.files() {
                #expect(!String(decoding: entry.bytes, as: UTF8.self).contains(Self.secret), "\(path)")
            }

            // The session remembers the client and its scopes.
            try await server.clearLog()
            let again = try await account("login")
            #expect(again.exitCode == 0, "\(again)")
            let request = try await server.log().requests.first { $0.path == Self.token }
            #expect(request?.grantType == "client_credentials" && request?.scope == "groups")

            let last = try await account.storedToken()
            let logout = try await account("logout", "--json")
            #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
            #expect(!container.exists(container.archive))
            let live = String(decoding: try await server.control(.GET, "tokens"), as: UTF8.self)
            #expect(!live.contains(last), "\(live)")
        }
    }

    @Test func `Refuses a sign-in without a client ID or with options of a user`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            for options in [[], ["--client-id", "account-cli", "--device"]] {
                let login = try await account.run(
                    ["login", "--client-credentials", "--issuer", "https://auth.example.com"] + options)
                #expect(login.exitCode == 64, "\(login)")
                #expect(login.errors.contains(options.isEmpty ? "--client-id" : "--client-credentials"), "\(login)")
            }
        }
    }

    @Test func `Accepts the URL of the service, and earlier spellings of the options`() async throws {
        try await run { server, account, _ in
            for words in [["machine", server.issuer], ["--client-credentials", "--issuer", server.issuer]] {
                let login = try await account.run(["login"] + words + ["--client-id", "account-cli"])
                #expect(login.exitCode == 0, "\(login)")
                #expect(login.errors.contains("Signed in as the client account-cli at \(server.issuer)"), "\(login)")
            }
        }
    }

    @Test func `Reads the client secret from standard input and does not store it`() async throws {
        try await run { server, account, container in
            let without = account.with(Self.variable, nil)
            let missing = try await logIn(without, server)
            #expect(missing.exitCode == 64, "\(missing)")
            #expect(missing.errors.contains("--client-secret-stdin"), "\(missing)")
            let wrong = try await logIn(account.with(Self.variable, "wrong"), server)
            #expect(wrong.exitCode == 78, "\(wrong)")
            #expect(wrong.errors.contains("ACCOUNT_CLIENT_SECRET"), "\(wrong)")
            #expect(!container.exists(container.archive))
            let login = try await logIn(without, server, ["--client-secret-stdin"], input: Self.secret + "\n")
            #expect(login.exitCode == 0, "\(login)")
            #expect(login.errors.contains("Set ACCOUNT_CLIENT_SECRET for commands that need a new token."), "\(login)")
            // The stored token needs no secret.
            #expect(try await without("token").exitCode == 0)
            try await server.clearLog()
            let refresh = try await without("refresh")
            #expect(refresh.exitCode == 78, "\(refresh)")
            #expect(refresh.errors.contains("ACCOUNT_CLIENT_SECRET"), "\(refresh)")
            #expect(try await server.log()[Self.token] == 0)
            // A process without the secret does not delay the others.
            #expect(try await account("refresh").exitCode == 0)
        }
    }

    // MARK: Failures

    @Test func `A process with a wrong secret neither ends the session nor delays it`() async throws {
        try await runSignedIn { server, account, container in
            let stale = account.with(Self.variable, "an old secret")
            let rejected = try await stale("refresh")
            #expect(rejected.exitCode == 78, "\(rejected)")
            #expect(rejected.errors.contains("still signed in"), "\(rejected)")
            #expect(rejected.errors.contains("Check the client secret in ACCOUNT_CLIENT_SECRET."), "\(rejected)")
            let token = try await stale("token")
            #expect(token.exitCode == 0, "the stored token is still valid: \(token)")
            let refresh = try await account("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")

            // Without the secret, `logout` can only remove the session.
            try await server.clearLog()
            let logout = try await account.with(Self.variable, nil)("logout")
            #expect(logout.exitCode == 0, "\(logout)")
            #expect(logout.errors.contains("this program has no secret for the client account-cli"), "\(logout)")
            #expect(!container.exists(container.archive))
            #expect(try await server.log().requests.isEmpty)
        }
    }

    @Test func `Sends the client secret only for the chosen session`() async throws {
        try await run { server, account, container in
            #expect(try await logIn(account, server, ["--session", "first"]).exitCode == 0)
            try await ExampleServer.run(["--client-secret", "another secret"]) { other in
                let second = account.with(Self.variable, "another secret")
                #expect(try await logIn(second, other, ["--session", "second"]).exitCode == 0)
                let rule = try await account("rule", "add", "https://git.example.com", "--session", "second")
                #expect(rule.exitCode == 0, "\(rule)")
                try await other.clearLog()
                let later = try await WrongClock(in: container).tool(account, ahead: 7200)
                    .with("ACCOUNT_SESSION", "first")
                // A rule chooses the second session, and the secret belongs to the first one.
                let git = try await later("git-credential", "get", input: "protocol=https\nhost=git.example.com\n\n")
                #expect(!git.output.contains("password="), "\(git)")
                let logout = try await later("logout", "--all")
                #expect(logout.exitCode == 0, "\(logout)")
                #expect(try await other.log()[Self.token] == 0)
                #expect(try await other.log()["/oauth/revoke"] == 0)
            }
            #expect(try await server.log()["/oauth/revoke"] == 1)
        }
    }

    @Test func `Delivers a queued revocation only with the secret of its client`() async throws {
        try await runSignedIn { server, account, container in
            let token = try await account.storedToken()
            try await server.setFaults(Fault(path: "/oauth/revoke", status: 503, body: ""))
            let logout = try await account("logout", "--json")
            #expect(logout.output.contains(#""revocation":"queued""#), "\(logout)")
            try await server.setFaults()
            try await server.clearLog()
            // The remembered service is now another one, to which the secret in the variable belongs.
            try await ExampleServer.run(["--client-secret", Self.secret]) { other in
                #expect(try await logIn(account, other).exitCode == 0)
                #expect(try await server.log().requests.isEmpty)
                _ = try await account("logout")
            }
            #expect(try await logIn(account, server).exitCode == 0)
            _ = try await account("refresh")
            let live = String(decoding: try await server.control(.GET, "tokens"), as: UTF8.self)
            #expect(!live.contains(token), "\(live)")
        }
    }
}
