@testable import EndToEndSupport
import Testing

/// The outcomes of a revocation that `logout` reports: done, queued, refused, or not supported.
@Suite(.queued)
struct RevocationOutcomeTests {
    private struct Report: Decodable {
        struct Part: Decodable {
            let revocation: String
        }

        let sessions: [Part]
    }

    private func expect(_ outcome: String, _ logout: Outcome) throws {
        #expect(logout.exitCode == 0, "\(logout)")
        #expect(try logout.document(Report.self).sessions.map(\.revocation) == [outcome], "\(logout)")
    }

    @Test func `logout reports that the service has revoked both tokens`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            try expect("done", try await user.account("logout", "--json"))
            #expect(try await user.server.liveTokens(of: "alice") == [])
        }
    }

    static let refusals = [
        Fault(path: "/oauth/revoke", status: 401, body: #"{"error":"invalid_client"}"#),
        Fault(path: "/oauth/revoke", status: 400, body: #"{"error":"unsupported_token_type"}"#),
        Fault(path: "/oauth/revoke", status: 403, body: #"{"error":"unauthorized_client"}"#),
    ]

    @Test(arguments: refusals)
    func `logout reports that the service refused the revocation`(fault: Fault) async throws {
        try await SignedInUser.run { user in
            try await user.server.setFaults(fault)
            try expect("refused", try await user.account("logout", "--json"))
            #expect(!user.container.exists(user.container.archive))
        }
        try await SignedInUser.run { user in
            try await user.server.setFaults(fault)
            let logout = try await user.account("logout")
            #expect(logout.exitCode == 0, "\(logout)")
            #expect(logout.errors.contains("refused"), "\(logout)")
        }
    }

    @Test func `logout succeeds if the service has no revocation endpoint`() async throws {
        try await SignedInUser.run { user in
            try await user.server.alter(.discovery, omitting: ["revocation_endpoint"])
            try expect("notSupported", try await user.account("logout", "--json"))
            #expect(try await user.server.log()["/oauth/revoke"] == 0)
            // No revocation is queued.
            try await user.server.clearLog()
            try await user.signIn()
            #expect(try await user.server.log()["/oauth/revoke"] == 0)
        }
    }

    static let moments = [
        Fault(path: "/oauth/revoke", status: 503), Fault(path: "/.well-known/openid-configuration", status: 503),
        Fault(path: "/.well-known/oauth-authorization-server", status: 503),
        Fault(path: "/.well-known/openid-configuration", disconnect: .before), Fault(path: "*", status: 503),
    ]

    @Test(arguments: moments)
    func `logout queues the revocation after a temporary failure`(fault: Fault) async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            var faults = [fault]
            if fault.path.hasPrefix("/.well-known") {
                // Both documents must fail, since each document contains the endpoint.
                for path in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"] {
                    faults.append(Fault(path: path, status: 503))
                }
            }
            try await user.server.setFaults(faults)
            try expect("queued", try await user.account("logout", "--json"))
            #expect(!user.container.exists(user.container.archive))
            #expect(try await user.server.liveTokens(of: "alice").count == 2)
            try await user.server.clearFaults()
            #expect(try await user.account("doctor", "--fix").exitCode == 0)
            #expect(try await user.server.liveTokens(of: "alice") == [])
        }
    }

    @Test func `logout queues the revocation if only a passphrase opens the archive`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            let once = [Terminal.Step.silent, .type("battery"), .enter]
            func run(_ words: String..., asking questions: String...) async throws {
                let steps = questions.flatMap { [.wait($0)] + once }
                let session = try await Terminal.run(user.account.command(words), steps)
                #expect(session.exitCode == 0, "\(session)")
            }
            try await run("key", "add", "passphrase", asking: "New passphrase: ", "Confirm passphrase: ")
            try await run("key", "remove", "file", asking: "Passphrase: ")
            try await user.server.setFaults(Fault(path: "/oauth/revoke", status: 503))
            try await run("logout", asking: "Passphrase: ")
            #expect(!user.container.exists(user.container.archive))
            #expect(try await user.server.liveTokens(of: "alice").count == 2)
            try await user.server.clearFaults()
            try await run("doctor", "--fix", asking: "Passphrase: ")
            #expect(try await user.server.liveTokens(of: "alice") == [])
        }
    }
}
