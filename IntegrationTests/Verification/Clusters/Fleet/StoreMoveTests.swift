@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// `account store move`, which moves a session from files to a shared store, and back.
@Suite(.etcd, .queued)
struct StoreMoveTests {
    private func url() throws -> String { try EtcdServer.shared.url("c\(UUID().uuidString.prefix(8))") }

    @Test func `store move moves a session there and back, and names the target`() async throws {
        let url = try url()
        try await SignedInUser.run { user in
            let account = user.account
            let moved = try await account("store", "move", "--to", url)
            #expect(moved.exitCode == 0, "\(moved)")
            #expect(moved.errors.contains("Moved alice from file://"), "\(moved)")
            #expect(try await account("whoami", "--store", url).output == "alice\n")

            // Both places print the token while the token is valid.
            #expect(try await account.storedToken() == account.with("ACCOUNT_STORE", url).storedToken())
            let status = try await account("status")
            #expect(status.exitCode == 0, "\(status)")
            #expect(status.output.contains("This session was moved to \(url)"), "\(status)")
            #expect(try await account("sessions").output.contains("moved to \(url)"))
            #expect(try await account("doctor").output.contains("moved to \(url)"))

            try await user.server.expireTokens()
            let refreshed = try await account("whoami", "--max-age", "0", "--store", url)
            #expect(refreshed.output == "alice\n", "\(refreshed)")
            let old = try await account("whoami", "--verify")
            #expect(old.exitCode == 78, "\(old)")
            #expect(old.output == "alice\n")
            #expect(old.errors.contains("moved to \(url)"), "\(old)")
            let refresh = try await account("refresh")
            #expect(refresh.exitCode == 78, "\(refresh)")
            #expect(refresh.errors.contains("moved to \(url)"), "\(refresh)")

            let again = try await account("store", "move", "--to", url)
            #expect(again.exitCode == 0, "\(again)")
            let back = try await account("store", "move", "--from", url, "--to", "file:", "--json")
            #expect(back.exitCode == 0, "\(back)")
            #expect(try await account("refresh").exitCode == 0)
            let gone = try await account("refresh", "--store", url)
            #expect(gone.exitCode == 78, "\(gone)")
            #expect(gone.errors.contains("moved to file://"), "\(gone)")
            let logout = try await account("logout", "--store", url)
            #expect(logout.errors.contains("only here: the session continues at file://"), "\(logout)")
            #expect(try await account("whoami", "--max-age", "0").output == "alice\n")
            let log = try await user.server.log()
            #expect(log["refreshes"] == 2)
            #expect(log["reuseAlarms"] == 0)
            #expect(log["/oauth/revoke"] == 0)
        }
    }

    @Test func `store move moves the key that the tokens are bound to`() async throws {
        let url = try url()
        try await BoundUser.run { user in
            for (words, store) in [(["--to", url], url), (["--from", url, "--to", "file:"], "file:")] {
                let moved = try await user.account.run(["store", "move"] + words)
                #expect(moved.exitCode == 0, "\(moved)")
                let account = user.account.with("ACCOUNT_STORE", store)
                let refresh = try await account("refresh")
                #expect(refresh.exitCode == 0, "\(refresh)")
                let whoami = try await account("whoami", "--verify")
                #expect(whoami.exitCode == 0 && whoami.output == "alice\n", "\(whoami)")
                #expect(try await account("status").output.contains("bound to a key of this session (DPoP)"))
            }
            #expect(try await user.server.log()["reuseAlarms"] == 0)
        }
    }

    @Test func `A session that was moved to a shared store runs no program`() async throws {
        let url = try url()
        try await Container.run { container in
            try await ExampleServer.run(WorkloadPlatform.serverOptions) { server in
                let account = try Tool.account(in: container)
                let (assertion, runs) = (container.path("assertion"), container.path("runs"))
                let text = try await WorkloadPlatform(audience: server.issuer).assertion()
                try Data(text.utf8).write(to: URL(filePath: assertion))
                let program = container.path("program")
                try container.write(
                    "#!/bin/sh\necho >>\(runs)\ncat \(assertion)\n".utf8, to: program, permissions: 0o700)
                let login = try await account(
                    "login", "--workload", "command \(program)", "--issuer", server.issuer)
                #expect(login.exitCode == 0, "\(login)")
                #expect(try await account("store", "move", "--to", url).exitCode == 0)
                let shared = account.with("ACCOUNT_STORE", url)
                for words in [["refresh"], ["whoami", "--verify"], ["login"], ["doctor"], ["logout"]] {
                    let outcome = try await shared.run(words)
                    #expect(words == ["logout"] || outcome.exitCode == 78, "\(outcome)")
                }
                #expect(try String(contentsOfFile: runs, encoding: .utf8) == "\n", "only the first sign-in")
            }
        }
    }

    @Test func `store copy still works as an alias that help omits`() async throws {
        let url = try url()
        try await SignedInUser.run { user in
            let help = try await user.account("store", "--help")
            #expect(help.output.contains("move") && !help.output.contains("copy"), "\(help)")
            let copied = try await user.account("store", "copy", "--to", url, "--json")
            #expect(copied.exitCode == 0, "\(copied)")
            #expect(try copied.document().session == "default", "\(copied)")
            let back = try await user.account("store", "copy", "--from", url, "--to", "file:")
            #expect(back.exitCode == 0, "\(back)")
            #expect(back.errors.contains("Moved alice from \(url)"), "\(back)")
            let usage = try await user.account("store", "copy")
            #expect(usage.exitCode == 64 && usage.errors.contains("--to URL"), "\(usage)")
        }
    }

    @Test func `Leaves one session on one side if a move is killed at any write`() async throws {
        let etcd = try EtcdServer.shared
        try await SignedInUser.run { user in
            try await LateProxy.run(upstream: etcd.port) { proxy in
                let prefix = "k\(UUID().uuidString.prefix(8))"
                let url = etcd.url(prefix, port: proxy.port)
                let account = user.account
                var wasIncomplete = false
                for arguments in [["--to", url], ["--from", url, "--to", "file:"]] {
                    let isBack = arguments.count > 2
                    var number = 0
                    var isDone = false
                    while !isDone {
                        try await proxy.hold("/v3/kv/txn", skipping: number)
                        isDone = try await killed(account.command(["store", "move"] + arguments), proxy)
                        try await proxy.release()
                        try await etcd.revokeLeases(under: prefix)
                        let status = try await account("status")
                        if !isBack, !wasIncomplete, status.output.contains("is not complete") {
                            wasIncomplete = true
                            #expect(status.output.contains("store move --to \(url)"), "\(status)")
                        }
                        let move = try await account.run(["store", "move"] + arguments)
                        #expect(move.exitCode == 0, "killed at call \(number): \(move)")
                        let here = try await account("refresh")
                        let there = try await account("refresh", "--store", url)
                        #expect([here.exitCode, there.exitCode] == (isBack ? [0, 78] : [78, 0]), "\(here) \(there)")
                        if !isDone {
                            // Undo the move for the next round.
                            let undone = try await account.run(
                                ["store", "move"] + (isBack ? ["--to", url] : ["--from", url, "--to", "file:"]))
                            #expect(undone.exitCode == 0, "\(undone)")
                        }
                        number += 1
                    }
                    #expect(number > 3)
                }
                #expect(wasIncomplete)
                #expect(try await account("whoami", "--max-age", "0").output == "alice\n")
                #expect(try await user.server.log()["reuseAlarms"] == 0)
            }
        }
    }

    /// Runs a command, and kills it once a response is held.
    ///
    /// - Returns: Whether the command ended before a response was held.
    private func killed(_ command: Command, _ proxy: LateProxy) async throws -> Bool {
        let outcome = try await command.whileRunning { running in
            let isHeld = await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    // This wait fails only if the other task finished first.
                    try? await proxy.waitUntilHeld()
                    return true
                }
                group.addTask {
                    // This wait fails only if the other task finished first, or if the program ended without a message.
                    // In the second case, no response is held.
                    _ = try? await running.errors.match { $0.contains("Moved") ? true : nil }
                    return false
                }
                defer { group.cancelAll() }
                return await group.next() == true
            }
            // If the command has already ended, there is no process to kill.
            if isHeld { try? await running.send(.kill) }
        }
        return !outcome.wasEnded(by: .kill)
    }
}
