@testable import EndToEndSupport
import Testing

/// Another process that does not release the archive's lock. The suite is not queued, since the test mostly waits and
/// uses little CPU.
@Suite(.timeLimit(.minutes(15)))
struct BusyTests {
    @Test func `While the lock is held, writers exit with 75 and readers succeed`() async throws {
        try await SignedInUser.run { user in
            let lock = user.container.home + "/Documents/Account.lock"
            let before = try user.container.entry(user.container.archive)
            let holder = Command(words: ["python3", "-B", BuiltProducts.fixture("hold_lock.py"), lock])
            try await ServerProcess.run(holder) { _ in
                async let logout = user.account("logout", "--local")
                async let refresh = user.account("refresh")
                async let check = user.account("whoami", "--verify")
                let cached = try await user.account("whoami")
                #expect(cached.output == "alice\n")
                let token = try await user.account("token")
                #expect(token.exitCode == 0)

                let blocked = try await logout
                #expect(blocked.exitCode == 75, "\(blocked)")
                #expect(blocked.errors.contains("another process"))
                #expect(blocked.errors.contains("`fuser \(lock)` names it"))
                // The command reports the service's response even if the command cannot store the result.
                let checked = try await check
                #expect(checked.exitCode == 0, "\(checked)")
                #expect(checked.output == "alice\n")
                let refused = try await refresh
                #expect(refused.exitCode == 75, "\(refused)")
            }
            #expect(try user.container.entry(user.container.archive) == before)
            #expect(try await user.server.log()["refreshes"] == 0)
            #expect(try await user.account("logout", "--local").exitCode == 0)
        }
    }
}
