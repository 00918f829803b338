@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// Simulates a flight: many changes without the network, a process that is killed while it sends the changes, and lost
/// responses. The service must carry out each change exactly once.
@Suite(.queued(minutes: 10))
struct GistsFlightTests {
    /// The expected content of a gist.
    private struct Expected {
        var files: [String: String]
        var isStarred: Bool
    }

    @Test(arguments: 1...4)
    func `gists applies each change once despite kills and lost responses`(seed: UInt64) async throws {
        var random = SeededRandom(seed)
        try await GistsUser.run { user in
            try await user.server.seedGists(5)
            _ = try await user.list("starred")
            var expected: [String: Expected] = [:]
            for gist in try await user.server.gists() {
                expected[gist.id] = Expected(files: gist.files, isStarred: false)
            }
            _ = try await user.list()
            for number in 1...14 { try await change(number, user, &expected, &random) }

            // Kill the process, lose a response, and kill the process again.
            try await killWhileSending(user, &random)
            try await user.server.arm(.appliedButDropped.on(afterSkipping: Int.random(in: 0...3, using: &random)))
            _ = try await user.gists("sync")
            try await user.server.clearFaults()
            try await killWhileSending(user, &random)
            let sync = try await user.gists("sync")
            #expect(sync.exitCode == 0, "\(sync)")

            let state = try await user.server.allGists(of: "alice")
            let wanted = expected.values.map { $0.files.description + "\($0.isStarred)" }.sorted()
            // Compare the gists one by one, since dictionaries are unordered.
            #expect(state.gists.count == expected.count)
            for gist in state.gists {
                #expect(
                    expected.values.contains {
                        $0.files == gist.files && $0.isStarred == gist.starredBy.contains("alice")
                    },
                    "\(gist) is not in \(wanted)")
            }
            let made = expected.keys.count { $0.hasPrefix("local-") }
            #expect(state.changes(by: "POST").count == made)
            #expect(Set(try await user.ids()) == Set(state.gists.map(\.id)))
            #expect(Set(try await user.ids("starred")) == Set(state.starred(by: "alice").map(\.id)))
        }
    }

    /// Kills a `sync` at one of its requests, either before the service receives the request or before it responds.
    private func killWhileSending(_ user: GistsUser, _ random: inout SeededRandom) async throws {
        // Each change requires at least one request.
        guard try await user.pending().count > 3 else { return }
        let passing = Int.random(in: 0...3, using: &random)
        let isCarriedOut = Bool.random(using: &random)
        try await user.server.clearLog()
        try await user.server.arm(
            Fault(path: "/gists*", delayMilliseconds: 600_000, afterHandler: isCarriedOut, times: 1)
                .on(afterSkipping: passing))
        let code = try await Interrupted.run(user.gists.command(["sync"]), by: .kill) {
            try await user.server.gistRequests().values.reduce(0, +) > passing
        }
        #expect(code == 137)
        try await user.server.clearFaults()
    }

    private func change(
        _ number: Int, _ user: GistsUser, _ expected: inout [String: Expected], _ random: inout SeededRandom
    ) async throws {
        let id = expected.keys.sorted().randomElement(using: &random)
        switch Int.random(in: 0...9, using: &random) {
        case 0...2:
            let id = try await user.createOffline("made \(number)", name: "made.txt")
            expected[id] = Expected(files: ["made.txt": "made \(number)"], isStarred: false)
        case 3...5:
            guard let id else { return }
            let name = "edit\(number).txt"
            try await expectDone(user.offline("edit", id, try user.file(name, "edit \(number)")))
            expected[id]?.files[name] = "edit \(number)"
        case 6:
            guard let id else { return }
            try await expectDone(user.offline("delete", id))
            expected[id] = nil
        case 7...8:
            guard let id else { return }
            try await expectDone(user.offline("star", id))
            expected[id]?.isStarred = true
        default:
            guard let id else { return }
            try await expectDone(user.offline("unstar", id))
            expected[id]?.isStarred = false
        }
    }

    private func expectDone(_ outcome: Outcome) async throws { #expect(outcome.exitCode == 0, "\(outcome)") }
}
