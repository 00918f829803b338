import Testing

/// `whoami --offline`, as the operating system sees it.
@Suite(.queued)
struct OfflineTests {
    @Test func `Asked not to touch the network, it makes no socket, and it writes nothing`() async throws {
        try await SignedInUser.run { user in
            let (calls, outcome) = try await SystemCalls.during(
                user.account.command(["whoami", "--offline"]), in: user.container)
            #expect(outcome.exitCode == 0)
            #expect(outcome.output == "alice\n")
            #expect(calls.onSockets == [])
            #expect(calls.changingFiles == [])
            // It was the archive that the name was read from.
            #expect(calls.lines.contains { $0.hasPrefix("openat(") && $0.contains("\(user.container.archive)") })
        }
    }

    @Test func `A fresh word of the service needs neither a socket nor a write`() async throws {
        try await SignedInUser.run { user in
            let (calls, outcome) = try await SystemCalls.during(user.account.command(["whoami"]), in: user.container)
            #expect(outcome.output == "alice\n")
            #expect(calls.onSockets == [])
            #expect(calls.changingFiles == [])
        }
    }

    @Test(arguments: [["whoami", "--offline"], ["whoami"], ["status"], ["sessions"], ["doctor"]])
    func `Where nobody is signed in, looking makes no socket and no file`(arguments: [String]) async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            let (calls, outcome) = try await SystemCalls.during(account.command(arguments), in: container)
            #expect(calls.onSockets == [])
            #expect(calls.changingFiles == [])
            #expect(!container.exists(container.home))
            guard arguments[0] == "whoami" else { return }
            #expect(outcome.exitCode == 77)
            #expect(outcome.output == "")
        }
    }

    @Test func `A check is a request, and a note of its response`() async throws {
        // What the other tests find nothing of is there to be found.
        try await SignedInUser.run { user in
            let (calls, outcome) = try await SystemCalls.during(
                user.account.command(["whoami", "--verify"]), in: user.container)
            #expect(outcome.output == "alice\n")
            #expect(calls.onSockets.contains { $0.hasPrefix("connect(") && $0.contains("127.0.0.1") })
            #expect(calls.changingFiles.contains { $0.hasPrefix("rename") && $0.contains("Account.plist") })
        }
    }
}
