@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// A hundred rounds of random late responses, signals and sign-outs, at a service with single-use refresh tokens and
/// reuse protection. No session may be lost, and no token may stay valid after a sign-out.
@Suite(.queued(minutes: 20))
struct SessionStormTests {
    /// The factor by which delays are shortened.
    private static let scale = 100

    /// A process of a round: its command, and the signal that interrupts it after a number of milliseconds.
    private struct Process {
        let words: [String]
        let interruption: (signal: String, delay: Int)?

        init(using random: inout SeededRandom) {
            let commands = [
                ["whoami", "--max-age", "0"], ["whoami", "--verify"], ["token", "--min-validity", "86400"], ["refresh"],
                ["status"],
            ]
            words = commands.randomElement(using: &random) ?? []
            let signal = ["INT", "TERM", "HUP", "QUIT"].randomElement(using: &random) ?? ""
            interruption =
                Bool.random(using: &random)
                ? (signal, Int.random(in: 1...(30_000 / scale + 100), using: &random)) : nil
        }

        func command(_ account: Tool) -> Command {
            let command = account.command(words)
            guard let interruption else { return command }
            return command.run(
                // With `--foreground`, timeout(1) signals only the command, and not the whole process group.
                by: "timeout", "--foreground", "--signal=" + interruption.signal,
                String(Double(interruption.delay) / 1000))
        }
    }

    private static var seed: UInt64 {
        ProcessInfo.processInfo.environment["STORM_SEED"].flatMap { UInt64($0) } ?? .random(in: 0 ... .max)
    }

    private let others = ["alice": "bob", "bob": "alice"]

    private func logIn(_ username: String, _ user: SignedInUser) async throws {
        let password = username == "alice" ? ExampleServer.alicePassword : ExampleServer.bobPassword
        let outcome = try await user.account(
            "login", "--issuer", user.server.issuer, "--username", username, "--password-stdin", input: password + "\n")
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    @Test func `Random signals and sign-outs lose no session and leave no valid token`() async throws {
        let seed = Self.seed
        print("The storm's seed is \(seed); STORM_SEED=\(seed) repeats it.")
        var random = SeededRandom(seed)
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            var username = "alice"
            for round in 1...100 {
                let place = "round \(round), seed \(seed)"
                try await user.server.expireTokens()
                // Some responses take longer than any command waits, even without scaling.
                let delay = round.isMultiple(of: 25) ? 11_000 : Int.random(in: 0...30_000, using: &random) / Self.scale
                try await user.server.setFaults(
                    Fault(
                        path: "/oauth/token", grantType: "refresh_token", delayMilliseconds: delay, afterHandler: true))
                let processes = (1...Int.random(in: 1...4, using: &random)).map { _ in Process(using: &random) }
                let signsOut = round.isMultiple(of: 5)
                // Another user signs in during the round, so the previous user's tokens must be revoked.
                let newcomer = !signsOut && round.isMultiple(of: 7) ? others[username] : nil
                try await withThrowingTaskGroup { group in
                    for process in processes {
                        let command = process.command(user.account)
                        group.addTask { _ = try await command.run() }
                    }
                    if signsOut {
                        group.addTask {
                            let logout = try await user.account("logout")
                            #expect(logout.exitCode == 0, "\(place): \(logout)")
                        }
                    }
                    if let newcomer { group.addTask { try await logIn(newcomer, user) } }
                    try await group.waitForAll()
                }
                try await user.server.clearFaults()
                username = newcomer ?? username

                #expect(try await user.server.log()["reuseAlarms"] == 0, "\(place)")
                if signsOut {
                    #expect(try await user.account("whoami").exitCode == 77, "\(place)")
                    for name in others.keys {
                        #expect(try await user.server.liveTokens(of: name) == [], "\(place): \(name)")
                    }
                    try await logIn(username, user)
                } else {
                    let name = try await user.account("whoami", "--verify")
                    #expect(name.output == username + "\n", "\(place): \(name)")
                    // The session is lost, so all later rounds would fail, too.
                    guard name.exitCode == 0 else { return }
                    let kept = try await user.server.liveTokens(of: username).filter { $0.kind == "refresh" }
                    #expect(kept.count == 1, "\(place)")
                    #expect(try await user.server.liveTokens(of: others[username] ?? "") == [], "\(place)")
                }
            }
            #expect(try await user.account("logout").exitCode == 0)
            for name in others.keys { #expect(try await user.server.liveTokens(of: name) == []) }
            #expect(try await user.server.log()["reuseAlarms"] == 0)
        }
    }
}

/// SplitMix64: produces the same numbers for the same seed.
private struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
