@testable import EndToEndSupport
import Testing

/// TLS and untrusted certificates. `HTTPTransportTests` tests wrong names, and servers without TLS.
@Suite(.queued)
struct CertificateTests {
    private func signIn(_ account: Tool, _ server: ExampleServer, trusting certificate: Certificate) async throws
        -> Outcome
    {
        let login = account.command(["login", "--issuer", server.issuer, "--username", "alice", "--password-stdin"])
        return try await login.run(trusting: certificate).run(input: ExampleServer.alicePassword + "\n")
    }

    @Test func `Trusts only the system's certificates and keeps the account`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            let certificate = try await Certificate.make(in: container)
            try await ExampleServer.run(certificate.serverOptions) { server in
                try #require(server.issuer.hasPrefix("https://127.0.0.1:"))
                let signedIn = try await signIn(account, server, trusting: certificate)
                #expect(signedIn.exitCode == 0, "\(signedIn)")
                let verified = try await account.command(["whoami", "--verify"]).run(trusting: certificate).run()
                #expect(verified.exitCode == 0, "\(verified)")
                #expect(verified.output == "alice\n")

                // The same server, on a system that does not trust the certificate.
                let before = try container.contents()
                let json = try await account("whoami", "--max-age", "0", "--json")
                let report = try json.document()
                #expect(json.exitCode == 0)
                #expect(report.state == "unverified")
                #expect(report.reason == "untrustedTLS")
                #expect(report.account?.username == "alice")
                let text = try await account("whoami", "--max-age", "0")
                #expect(text.output == "alice\n")
                #expect(
                    text.errors.contains(
                        "is not secure (the certificate of 127.0.0.1:\(server.port) is not trusted, or has expired)"),
                    "\(text)")
                #expect(try await account("whoami", "--verify").exitCode == 69)
                #expect(try container.contents() == before)
            }
        }
    }

    @Test(arguments: [("IP:127.0.0.2", 7), ("IP:127.0.0.1", -1)])
    func `Sends no password if the certificate's name or dates are wrong`(subject: String, days: Int) async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            let certificate = try await Certificate.make(for: subject, days: days, in: container)
            try await ExampleServer.run(certificate.serverOptions) { server in
                let outcome = try await signIn(account, server, trusting: certificate)
                #expect(outcome.exitCode == 69, "\(outcome)")
                #expect(outcome.errors.contains("the certificate of 127.0.0.1:\(server.port) "), "\(outcome)")
                #expect(!container.exists(container.archive))
            }
        }
    }
}
