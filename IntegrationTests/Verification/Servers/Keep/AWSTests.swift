@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// The `aws` command with the token file that `account keep` maintains.
@Suite(.queued(minutes: 10))
struct AWSTests {
    @Test func `aws assumes a role with the token file and reads each new token`() async throws {
        try await SignedInUser.run { user in
            try await AWSServer.run(in: user.container) { aws in
                let file = user.container.path("identity.token")
                let identify = aws.command(
                    "sts", "get-caller-identity", tokenFile: file, in: user.container)
                let keep = user.account.command(["keep", "--id-token", "--file", file])
                var kept: [String] = []
                let outcome = try await keep.whileRunning { keep in
                    for count in 1...2 {
                        let last = kept.last
                        try await waitUntil("the file has a new token") {
                            let text = try? String(contentsOfFile: file, encoding: .utf8)
                            return text != nil && text != last
                        }
                        let identity = try await identify.run()
                        #expect(identity.exitCode == 0, "\(identity)")
                        #expect(identity.output.contains(":assumed-role/developer/"), "\(identity)")
                        kept.append(try String(contentsOfFile: file, encoding: .utf8))
                        // This service issues no ID token on a refresh.
                        if count == 1 { try await user.signIn() }
                    }
                    try await keep.send(.terminate)
                }
                #expect(outcome.wasEnded(by: .terminate), "\(outcome)")
                // `aws` sent the two different ID tokens that were in the file, and no others.
                #expect(try await aws.tokens() == kept)
                #expect(Set(kept).count == 2 && kept.allSatisfy { $0.split(separator: ".").count == 3 })
                // Without the file, `aws` has no other credentials.
                let without = try await identify.run()
                #expect(without.exitCode != 0, "\(without)")
                #expect(try await aws.tokens().count == 2)
            }
        }
    }
}
