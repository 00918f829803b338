@testable import EndToEndSupport
import Foundation
import Testing

/// Two discovery documents that complement each other, and errors of unreachable services.
@Suite(.queued)
struct DiscoveryTests {
    static let endpoints = [
        "device_authorization_endpoint", "revocation_endpoint", "authorization_endpoint", "userinfo_endpoint",
    ]

    /// The document that omits the endpoint.
    static let halves = [ExampleServer.Response.openIDConfiguration, .serverMetadata]

    @Test(arguments: endpoints, halves)
    func `Finds an endpoint that only one discovery document contains`(endpoint: String, half: ExampleServer.Response)
        async throws
    {
        try await Container.run { container in
            try await ExampleServer.run(["--device-interval", "1"]) { server in
                let account = try Tool.account(in: container)
                try await server.alter(half, omitting: [endpoint])
                let issuer = ["--issuer", server.issuer]
                let login =
                    endpoint == "authorization_endpoint"
                    ? try await account.logIn(at: server, issuer) : try await account.logInOnDevice(at: server, issuer)
                #expect(login.exitCode == 0, "\(login)")
                #expect(try await account("whoami", "--verify").output == "alice\n")
                let logout = try await account("logout", "--json")
                #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
            }
        }
    }

    @Test func `Keeps the session while the discovery documents are unavailable`() async throws {
        try await SignedInUser.run { user in
            try await user.server.setFaults(
                Fault(path: "/.well-known/openid-configuration", status: 503),
                Fault(path: "/.well-known/oauth-authorization-server", status: 503))
            let outcome = try await user.account("whoami", "--max-age", "0", "--json")
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(try outcome.document().reason == "serverError", "\(outcome)")
            try await user.server.clearFaults()
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    private static let configuration = "/.well-known/openid-configuration"

    /// Runs a test with alice signed in, at a server that allows clients to store its metadata.
    private func runWithStoredMetadata(
        _ cacheControl: String = "max-age=600", _ test: (SignedInUser) async throws -> Void
    ) async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                try await server.setFaults(Fault(path: Self.configuration, headers: ["Cache-Control": cacheControl]))
                let user = SignedInUser(server: server, container: container, account: try .account(in: container))
                try await user.signIn()
                try await server.clearLog()
                try await test(user)
            }
        }
    }

    @Test(arguments: [("max-age=600", 0), ("max-age=0", 1), ("no-store", 1)])
    func `Refreshes without discovery while the metadata of the sign-in is fresh`(
        cacheControl: String, requestCount: Int
    ) async throws {
        try await runWithStoredMetadata(cacheControl) { user in
            let outcome = try await user.account("refresh")
            #expect(outcome.exitCode == 0, "\(outcome)")
            let log = try await user.server.log()
            #expect(log["rotations"] == 1)
            #expect(log[Self.configuration] == requestCount)
        }
    }

    @Test(arguments: [("max-age=600", 0), ("no-store", 1)])
    func `Checks the session without discovery while the metadata is fresh`(
        cacheControl: String, requestCount: Int
    ) async throws {
        try await runWithStoredMetadata(cacheControl) { user in
            let outcome = try await user.account("whoami", "--verify")
            #expect(outcome.exitCode == 0, "\(outcome)")
            let log = try await user.server.log()
            #expect(log["/oauth/userinfo"] == 1)
            #expect(log[Self.configuration] == requestCount)
        }
    }

    @Test(arguments: [404, 410, 503])
    func `Discovers the token endpoint again after a failed refresh`(status: Int) async throws {
        try await runWithStoredMetadata { user in
            try await user.server.arm(Fault(path: "/oauth/token", status: status, times: 1))
            #expect(try await user.account("refresh").exitCode == 69)
            var log = try await user.server.log()
            #expect(log["/oauth/token"] == 1)
            #expect(log[Self.configuration] == 0)
            let outcome = try await user.account("refresh")
            #expect(outcome.exitCode == 0, "\(outcome)")
            log = try await user.server.log()
            #expect(log["rotations"] == 1)
            #expect(log[Self.configuration] == 1)
        }
    }

    @Test func `Reports a missing discovery document without misleading advice`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                try await server.setFaults(
                    Fault(path: "/.well-known/openid-configuration", status: 404),
                    Fault(path: "/.well-known/oauth-authorization-server", status: 404))
                let outcome = try await Tool.account(in: container)("login", "--device", "--issuer", server.issuer)
                #expect(outcome.exitCode == 78, "\(outcome)")
                #expect(outcome.errors.contains("has no discovery document: check the issuer"), "\(outcome)")
                #expect(!outcome.errors.contains("endpoints"), "\(outcome)")
            }
        }
    }

    @Test func `An error response to a refresh does not count as a lost response`() async throws {
        try await SignedInUser.run { user in
            try await user.server.setFaults(
                Fault(
                    path: "/oauth/token", grantType: "refresh_token", status: 400, body: #"{"error":"invalid_request"}"#
                ))
            #expect(try await user.account("refresh").exitCode == 78)
            #expect(try await user.account("status", "--json").document().unfinishedRefreshAt == nil)
        }
    }

    @Test func `login --help names the default client ID`() async throws {
        try await Container.run { container in
            let help = try await Tool.account(in: container)("login", "--help")
            #expect(help.exitCode == 0)
            #expect(help.output.contains("account-cli"), "\(help)")
        }
    }

    // MARK: Errors name the host and the cause

    @Test func `Distinguishes a silent name server from an unknown host name`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            let resolver = container.path("resolv.conf")
            try container.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n".utf8, to: resolver)
            // Use a separate network namespace, in which a socket receives all DNS queries and never replies.
            let silence = """
                import socket, subprocess, sys
                server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                server.bind(("127.0.0.1", 53))
                sys.exit(subprocess.run(sys.argv[1:]).returncode)
                """
            let login = account.command(
                ["login", "--issuer", "https://login.example.com", "--username", "alice", "--password-stdin"])
            let privileges = Privileges.isRoot ? [] : ["--map-root-user"]
            let words = ["unshare", "--net", "--mount"] + privileges
            let script = """
                mount --bind '\(resolver)' /etc/resolv.conf
                ip link set lo up
                exec "$@"
                """
            let outcome = try await Command(
                words: words + ["sh", "-e", "-c", script, "sh", "python3", "-c", silence] + login.words,
                environment: login.environment
            ).run(input: "x\n")
            #expect(outcome.exitCode == 69, "\(outcome)")
            #expect(outcome.errors.contains("name lookup of login.example.com timed out"), "\(outcome)")
            #expect(!outcome.errors.contains("not known"), "\(outcome)")
        }
    }

    @Test func `The error names the unreachable host and port once, with the cause`() async throws {
        try await SignedInUser.runWithoutServer { account, _, issuer in
            let outcome = try await account("whoami", "--verify")
            #expect(outcome.exitCode == 69, "\(outcome)")
            let place = String(issuer.dropFirst("http://".count))
            #expect(outcome.errors.components(separatedBy: place).count == 2, "\(outcome)")
            #expect(outcome.errors.contains("refused"), "\(outcome)")
        }
    }
}
