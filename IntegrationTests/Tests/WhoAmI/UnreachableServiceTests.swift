@testable import EndToEndSupport
import Testing

/// Services that send no response: the command reports that the user is still signed in. `TransportFailureTests` and
/// `HTTPTransportTests` have the kinds of failures, and `ClockTests` a service that responds too late.
@Suite(.queued)
struct UnreachableServiceTests {
    @Test func `Reports offline and keeps the session if the connection is refused`() async throws {
        try await SignedInUser.runWithoutServer { account, container, issuer in
            let before = try container.contents()
            let json = try await account("whoami", "--max-age", "0", "--json")
            let report = try json.document()
            #expect(json.exitCode == 0)
            #expect(report.state == "unverified")
            #expect(report.reason == "offline")
            #expect(report.message == "the connection to \(issuer.split(separator: "/").last ?? "") was refused")
            #expect(report.account?.username == "alice")

            let text = try await account("whoami", "--max-age", "0")
            #expect(text.exitCode == 0)
            #expect(text.output == "alice\n")
            let place = issuer.split(separator: "/").last ?? ""
            #expect(text.errors.hasPrefix("offline: the connection to \(place) was refused. "))
            #expect(text.errors.contains("You are still signed in; last confirmed "))

            let verified = try await account("whoami", "--verify")
            #expect(verified.exitCode == 69)
            #expect(try container.contents() == before)
        }
    }

    @Test func `Signing in to an unknown host fails and stores nothing`() async throws {
        try await Container.run { container in
            let outcome = try await Tool.account(in: container)(
                "login", "--issuer", "https://nobody.invalid", "--username", "alice", "--password-stdin",
                input: "secret\n")
            #expect(outcome.exitCode == 69)
            #expect(outcome.output == "")
            #expect(outcome.errors.contains("the host name nobody.invalid is not known"))
            #expect(!container.exists(container.archive))
        }
    }

    @Test func `Connects to localhost on this machine regardless of name resolution`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--host", "::1"]) { server in
                let outcome = try await signIn(atLocalhost: server.port, in: container)
                #expect(outcome.exitCode == 0, "\(outcome)")
            }
        }
    }

    @Test func `Ignores the address of localhost in a hosts file`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--host", "127.9.9.9"]) { server in
                let outcome = try await signIn(atLocalhost: server.port, in: container)
                #expect(outcome.exitCode == 69, "\(outcome)")
                #expect(outcome.errors.contains("connection to localhost:\(server.port) was refused"), "\(outcome)")
                #expect(try await server.log().requests.isEmpty)
            }
        }
    }

    private func signIn(atLocalhost port: Int, in container: Container) async throws -> Outcome {
        let issuer = "http://localhost:\(port)"
        let login = try Tool.account(in: container)
            .command(["login", "--issuer", issuer, "--username", "alice", "--password-stdin"])
        return try await login.runWhereLocalhostLeads(to: "127.9.9.9", in: container)
            .run(input: ExampleServer.alicePassword + "\n")
    }
}
