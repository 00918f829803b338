@testable import EndToEndSupport
import Subprocess
import Testing

/// Many processes that need a new token at the same time.
@Suite(.queued)
struct ManyProcessesTests {
    @Test func `Two hundred processes with an expired token refresh once`() async throws {
        try await SignedInUser.run { user in
            try await user.server.expireTokens()
            try await user.account.expectName("alice", inProcesses: 200)
            let log = try await user.server.log()
            #expect(log["refreshes"] == 1)
            #expect(log["rotations"] == 1)
            #expect(log["reuseAlarms"] == 0)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }
}
