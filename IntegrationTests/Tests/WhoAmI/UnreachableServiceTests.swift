@testable import EndToEndSupport
import Testing

/// Services that send no response.
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

    @Test func `Reports offline if the service's host name no longer resolves`() async throws {
        try await SignedInUser.runWithoutServer { account, container, issuer in
            // An imported account can contain any issuer.
            let legacy = container.path("old.plist")
            try container.write(
                #"<plist version="1.0"><dict><key>token</key><string>t</string><key>id</key><string>7</string></dict></plist>"#
                    .utf8, to: legacy)
            let imported = try await account("import", legacy, "--replace", "--issuer", "https://nobody.invalid")
            try #require(imported.exitCode == 0, "\(imported)")
            let before = try container.contents()

            let outcome = try await account("whoami", "--json")
            let report = try outcome.document()
            #expect(outcome.exitCode == 0)
            #expect(report.reason == "offline")
            #expect(report.message == "the host name nobody.invalid is not known")
            #expect(report.account?.id == "7")
            #expect(try await account("whoami", "--verify").exitCode == 69)
            #expect(try container.contents() == before)
        }
    }

    @Test func `Reports offline if the service does not respond in time`() async throws {
        try await SignedInUser.run { user in
            let before = try user.container.contents()
            try await user.server.setFaults(Fault(path: "/oauth/userinfo", delayMilliseconds: 60_000))
            let outcome = try await user.account("whoami", "--verify", "--json")
            let report = try outcome.document()
            #expect(outcome.exitCode == 69)
            #expect(report.state == "unverified")
            #expect(report.reason == "offline")
            #expect(report.message?.hasSuffix(" did not respond in time") == true)
            #expect(report.account?.username == "alice")
            #expect(try user.container.contents() == before)
        }
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func `Connects to localhost on this machine regardless of name resolution`(address: String) async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--host", address]) { server in
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
