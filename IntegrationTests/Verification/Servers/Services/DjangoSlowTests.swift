@testable import EndToEndSupport
import Subprocess
import Testing

/// Late responses from an authorization server that is not part of this project, with single-use refresh tokens and reuse
/// protection.
@Suite(.queued(minutes: 15))
struct DjangoSlowTests {
    private struct User {
        let account: Tool
        let server: DjangoServer
        let proxy: LateProxy
    }

    private static let refresh = "grant_type%3Drefresh_token"

    /// Runs a test with alice signed in and her access token expired.
    private func run(_ test: (User) async throws -> Void) async throws {
        try await Container.run { container in
            let server = try await DjangoServer(in: container)
            let account = try Tool.account(in: container)
            let port = try FreePort.find()
            try await LateProxy.run(upstream: port) { proxy in
                try await server.run(port: port, publicPort: proxy.port) { issuer in
                    let outcome = try await account(
                        "login", "--issuer", issuer, "--username", "alice", "--password-stdin",
                        input: DjangoServer.password + "\n")
                    try #require(outcome.exitCode == 0, "\(outcome)")
                    try await server.expireAll()
                    try await test(User(account: account, server: server, proxy: proxy))
                }
            }
        }
    }

    private func expectSignedIn(_ alice: User) async throws {
        for words in [["whoami", "--verify"], ["refresh"], ["whoami", "--verify"]] {
            let outcome = try await alice.account.run(words)
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output == (words == ["refresh"] ? "" : "alice\n"), "\(outcome)")
        }
        #expect(try await alice.server.refreshCount() == 2)
    }

    @Test func `whoami prints the name first and stores late tokens before it exits`() async throws {
        try await run { alice in
            try await alice.proxy.hold(Self.refresh)
            let outcome = try await alice.account.command(["whoami", "--max-age", "0"]).whileRunning { whoami in
                try await alice.proxy.waitUntilHeld()
                try await whoami.output.wait(for: "alice\n")
                try await alice.proxy.release()
            }
            #expect(outcome.exitCode == 0, "\(outcome)")
            try await expectSignedIn(alice)
        }
    }

    @Test(arguments: [Signal.interrupt, .terminate, .terminalClosed, .quit])
    func `After a signal, exits only after storing the late tokens`(signal: Signal) async throws {
        try await run { alice in
            try await alice.proxy.hold(Self.refresh)
            let outcome = try await alice.account.command(["whoami", "--max-age", "0"]).whileRunning { whoami in
                try await alice.proxy.waitUntilHeld()
                try await whoami.send(signal)
                try await alice.proxy.release()
            }
            #expect(outcome.wasEnded(by: signal), "\(outcome)")
            try await expectSignedIn(alice)
        }
    }

    @Test func `Four concurrent commands wait for the same late response`() async throws {
        try await run { alice in
            try await alice.proxy.hold(Self.refresh)
            try await withThrowingTaskGroup { group in
                for _ in 1...4 { group.addTask { try await alice.account("whoami", "--max-age", "0") } }
                try await alice.proxy.waitUntilHeld()
                try await alice.proxy.release()
                for try await outcome in group { #expect(outcome.output == "alice\n", "\(outcome)") }
            }
            try await expectSignedIn(alice)
        }
    }

    @Test func `logout does not wait for a late refresh, which revokes the new tokens`() async throws {
        try await run { alice in
            try await alice.proxy.hold(Self.refresh)
            _ = try await alice.account.command(["whoami", "--max-age", "0"]).whileRunning { whoami in
                try await alice.proxy.waitUntilHeld()
                let logout = try await alice.account("logout")
                #expect(logout.exitCode == 0, "\(logout)")
                try await alice.proxy.release()
            }
            #expect(try await alice.account("whoami").exitCode == 77)
            #expect(try await alice.server.liveTokenCount() == 0)
        }
    }
}
