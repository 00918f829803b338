@testable import EndToEndSupport
import Foundation
import Testing

/// The output of `gists sync` while it sends many changes.
@Suite(.queued)
struct GistsProgressTests {
    /// Runs a test with `count` unsent changes of alice.
    private func run(_ count: Int, _ test: (GistsUser) async throws -> Void) async throws {
        try await GistsUser.run { user in
            try await user.server.seedGists(count)
            let ids = try await user.ids()
            let outcome = try await user.offline.run(["star"] + ids)
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(try await user.pending().count == count)
            try await test(user)
        }
    }

    /// The lines that remain on the screen, and every text that a line has shown.
    private func lines(_ session: Terminal.Session) -> (left: [String], drawn: [String]) {
        let drawn = session.screen.replacing("\r\n", with: "\n").split(separator: "\n").map { line -> [String] in
            line.split(separator: "\r", omittingEmptySubsequences: false)
                .map { String($0.replacing("\u{1b}[K", with: "")) }
        }
        return (drawn.compactMap(\.last), drawn.flatMap(\.self))
    }

    @Test(arguments: [20, 40, 80])
    func `gists sync shows progress in one line and removes the line at the end`(columns: Int) async throws {
        try await run(12) { user in
            let session = try await Terminal.run(user.gists.command(["sync"]), columns: columns)
            #expect(session.exitCode == 0, "\(session)")
            let (left, drawn) = lines(session)
            #expect(left == ["Sent 12."], "\(session)")
            for number in 0...12 {
                #expect(
                    drawn.contains { $0.hasSuffix("\(number) of 12") || $0.hasSuffix("\(number) of 12]") }, "\(session)"
                )
            }
            #expect(drawn.contains { $0.hasPrefix("Sending [") } == (columns >= 40), "\(session)")
            for line in drawn { #expect(line.count < columns, "\(line)") }
            // Each state overwrites the previous state.
            #expect(session.screen.count { $0 == "\n" || $0 == "\r\n" } == 1, "\(session)")
        }
    }

    @Test func `Without a terminal, gists sync prints plain lines, or none with --json`() async throws {
        try await run(12) { user in
            let sync = try await user.gists("sync")
            #expect(sync.exitCode == 0 && sync.output.isEmpty)
            #expect(sync.errors == "Sending 12 changes.\nSent 10 of 12.\nSent 12.\n", "\(sync)")
            let nothing = try await user.gists("sync")
            #expect(nothing.exitCode == 0 && nothing.errors.isEmpty && nothing.output.isEmpty, "\(nothing)")
            _ = try await user.createOffline("a")
            let json = try await user.gists("sync", "--json")
            #expect(json.exitCode == 0 && json.errors.isEmpty, "\(json)")
        }
    }

    @Test func `Offline, gists sync replaces the progress bar with the reason`() async throws {
        try await run(3) { user in
            let session = try await Terminal.run(user.offline.command(["sync"]), columns: 80)
            #expect(session.exitCode == 69, "\(session)")
            let left = lines(session).left
            #expect(left.count == 2 && left[0] == "3 changes wait to be sent: see `gists status`.", "\(session)")
            #expect(left.last?.hasPrefix("offline (") == true, "\(session)")
        }
    }

    @Test func `After Ctrl-C in gists sync, each change is still sent once`() async throws {
        try await run(12) { user in
            try await user.server.arm(
                Fault(path: "/gists*", delayMilliseconds: 600_000, afterHandler: true, times: 1).on(afterSkipping: 5))
            let session = try await Terminal.run(
                user.gists.command(["sync"]), columns: 40, .find("[1-9] of 12"), .controlC)
            #expect(session.exitCode == 130, "\(session)")
            #expect(lines(session).left.joined() == "Cancelled. Unsent changes are kept: `gists status` shows them.")
            #expect(session.screen.hasSuffix("\r\n"), "\(session)")
            let waiting = try await user.pending().count
            #expect((1..<12).contains(waiting), "\(waiting)")

            try await user.server.clearFaults()
            let sync = try await user.gists("sync")
            #expect(sync.exitCode == 0 && sync.errors.hasSuffix("Sent \(waiting).\n"), "\(sync)")
            let state = try await user.server.allGists(of: "alice")
            #expect(state.starred(by: "alice").count == 12)
            #expect(state.changes(by: "PUT").count { $0.changed } == 12)
        }
    }
}
