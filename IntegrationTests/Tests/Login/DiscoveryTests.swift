@testable import EndToEndSupport
import Testing

/// Two discovery documents that complement each other, and metadata that a session keeps. `ServiceDocumentsTests` tests
/// each endpoint, and `TokenEndpointTests` each lifetime and each failure of a stored endpoint.
@Suite(.queued)
struct DiscoveryTests {
    @Test func `Finds endpoints that only one of the two discovery documents contains`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--device-interval", "1"]) { server in
                let account = try Tool.account(in: container)
                try await server.alter(
                    .openIDConfiguration, omitting: ["device_authorization_endpoint", "revocation_endpoint"])
                try await server.alter(.serverMetadata, omitting: ["userinfo_endpoint"])
                let login = try await account.logInOnDevice(at: server, ["--issuer", server.issuer])
                #expect(login.exitCode == 0, "\(login)")
                #expect(try await account("whoami", "--verify").output == "alice\n")
                let logout = try await account("logout", "--json")
                #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
            }
        }
    }

    @Test func `Signs in although the first address has no document`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--device-interval", "1"]) { server in
                let account = try Tool.account(in: container)
                for fault in [
                    Fault(path: Self.configuration, status: 405),
                    Fault(
                        path: Self.configuration, status: 200, headers: ["Content-Type": "text/html"], body: "<html>"),
                    Fault(path: Self.configuration, status: 200, body: "{}"),
                    Fault(path: Self.configuration, status: 500),
                ] {
                    try await server.setFaults(fault)
                    let login = try await account.logInOnDevice(at: server, ["--issuer", server.issuer + "/"])
                    #expect(login.exitCode == 0, "\(login)")
                    let refresh = try await account("refresh")
                    #expect(refresh.exitCode == 0, "\(refresh)")
                }
            }
        }
    }

    private static let configuration = "/.well-known/openid-configuration"

    @Test func `Sends no discovery requests while the metadata of the sign-in is fresh`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                try await server.setFaults(Fault(path: Self.configuration, headers: ["Cache-Control": "max-age=600"]))
                let user = SignedInUser(server: server, container: container, account: try .account(in: container))
                try await user.signIn()
                try await server.clearLog()
                let refresh = try await user.account("refresh")
                #expect(refresh.exitCode == 0, "\(refresh)")
                let check = try await user.account("whoami", "--verify")
                #expect(check.exitCode == 0, "\(check)")
                #expect(try await server.log()["rotations"] == 1)
                #expect(try await server.log()[Self.configuration] == 0)

                // A failed refresh asks whether the endpoint is still current, and the next refresh discovers it again.
                try await server.arm(Fault(path: "/oauth/token", status: 404, times: 1))
                #expect(try await user.account("refresh").exitCode == 69)
                #expect(try await server.log()[Self.configuration] == 1)
                let next = try await user.account("refresh")
                #expect(next.exitCode == 0, "\(next)")
                #expect(try await server.log()["rotations"] == 2)
                #expect(try await server.log()[Self.configuration] == 2)
            }
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

    @Test func `login --help names the default client ID`() async throws {
        try await Container.run { container in
            let help = try await Tool.account(in: container)("login", "--help")
            #expect(help.exitCode == 0)
            #expect(help.output.contains("account-cli"), "\(help)")
        }
    }

    @Test func `Uses the default client ID at a service that registers no tools`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let account = try Tool.account(in: container)
                for words in [[server.issuer], ["--issuer", server.issuer]] {
                    let login = try await account.run(
                        ["login"] + words + ["--username", "alice", "--password-stdin"],
                        input: ExampleServer.alicePassword + "\n")
                    #expect(login.exitCode == 0, "\(login)")
                }
            }
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
}
