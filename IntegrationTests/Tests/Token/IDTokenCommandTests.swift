@testable import EndToEndSupport
import Foundation
import Testing

/// `account token --id-token`: prints an ID token that has not expired, or fails. `KeptTokenTests` tests when AccountKit
/// refreshes for an ID token.
@Suite(.queued)
struct IDTokenCommandTests {
    private struct Document: Decodable {
        let token: String
        let tokenType: String?
        let expiresAt: String?
        let session: String
    }

    @Test func `Prints the ID token, with its expiry in JSON, and refreshes it once`() async throws {
        try await SignedInUser.run { user in
            let text = try await user.account("token", "--id-token")
            #expect(text.exitCode == 0, "\(text)")
            let token = String(text.output.dropLast())
            #expect(text.output == token + "\n")
            #expect(token.split(separator: ".").count == 3)
            #expect(token != (try await user.account.storedToken()))
            let json = try await user.account("token", "--id-token", "--json").document(Document.self)
            #expect(json.token == token)
            #expect(json.session == "default")
            #expect(json.tokenType == nil)
            // The access token expires in about ten minutes.
            let end = try Date(try #require(json.expiresAt), strategy: .iso8601)
            #expect(3000...3610 ~= end.timeIntervalSinceNow)
            #expect(try await user.server.log()["refreshes"] == 0)

            let new = try user.server.idToken(until: .now.addingTimeInterval(7200))
            try await user.server.alter(.token, setting: ["id_token": .text(new)])
            for _ in 1...2 {
                let refreshed = try await user.account("token", "--id-token", "--min-validity", "3700")
                #expect(refreshed.output == new + "\n", "\(refreshed)")
            }
            #expect(try await user.account("kube-credential", "--any-cluster", "--id-token").output.contains(new))
            #expect(try await user.server.log()["refreshes"] == 1)
        }
    }

    @Test func `Offline, prints a valid ID token but no expired ID token`() async throws {
        try await SignedInUser.runWithoutServer { account, container, _ in
            let clock = try await WrongClock(in: container)
            let good = try await clock.run(account, ahead: 3580, ["token", "--id-token"])
            #expect(good.exitCode == 0, "\(good)")
            #expect(good.output.split(separator: ".").count == 3)
            let old = try await clock.run(account, ahead: 3700, ["token", "--id-token", "--json"])
            #expect(old.exitCode == 69, "\(old)")
            #expect(!old.output.contains(good.output.dropLast()))
            #expect(try await account("whoami", "--offline").output == "alice\n")
        }
    }

    @Test func `Explains how to get an ID token if the session has none`() async throws {
        try await SignedInUser.run(byToken: true) { user in
            let none = try await user.account("token", "--id-token")
            #expect(none.exitCode == 78, "\(none)")
            #expect(none.output == "")
            #expect(none.errors.contains("account login --session default --scope openid"), "\(none)")
            let json = try await user.account("token", "--id-token", "--json")
            #expect(json.exitCode == 78)
            #expect(json.output.contains("misconfigured"))
            let given = try await user.account.with("ACCOUNT_TOKEN", "given")("token", "--id-token")
            #expect(given.exitCode == 64 && given.errors.contains("Unset it"), "\(given)")
            let both = try await user.account("token", "--id-token", "--audience", "api")
            #expect(both.exitCode == 64 && both.errors.contains("Omit --audience"), "\(both)")
            #expect(try await user.account("logout").exitCode == 0)
            let signedOut = try await user.account("token", "--id-token", "--json")
            #expect(signedOut.exitCode == 77, "\(signedOut)")
            #expect(signedOut.output.contains(#""state":"signedOut""#))
        }
    }
}
