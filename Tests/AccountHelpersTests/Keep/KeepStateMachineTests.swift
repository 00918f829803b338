import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands
@testable import AccountHelpers

/// When to write, renew and remove a kept file.
@Suite struct KeepStateMachineTests {
    private static let start = Date(timeIntervalSince1970: 1_900_000_000)

    private static func date(_ seconds: TimeInterval) -> Date { start.addingTimeInterval(seconds) }

    private static func token(
        _ name: String = "1", at seconds: TimeInterval = 0, life: TimeInterval? = 3600, isRenewable: Bool = true
    ) -> KeptToken {
        KeptToken(
            secret: Secret(name), issuedAt: date(seconds), expiresAt: life.map { date(seconds + $0) },
            isRenewable: isRenewable)
    }

    /// A state machine whose actions are described by short words.
    private struct Run {
        var machine: KeepStateMachine

        init(random: Double = 0) { machine = KeepStateMachine { random } }

        mutating func observe(_ observation: KeepStateMachine.Observation, at seconds: TimeInterval) -> [String] {
            machine.observe(observation, at: date(seconds))
            return actions(at: seconds)
        }

        mutating func fail(
            _ observation: KeepStateMachine.Observation, pause: Duration? = nil, at seconds: TimeInterval
        ) -> [String] {
            machine.refreshEnded(
                AccountError(.serviceUnavailable, "offline"), pause: pause, observation, at: date(seconds))
            return actions(at: seconds)
        }

        mutating func succeed(_ observation: KeepStateMachine.Observation, at seconds: TimeInterval) -> [String] {
            machine.refreshEnded(nil, pause: nil, observation, at: date(seconds))
            return actions(at: seconds)
        }

        mutating func actions(at seconds: TimeInterval) -> [String] {
            var words: [String] = []
            while let action = machine.next(at: date(seconds)) {
                // Stops an endless loop.
                guard words.count < 20 else { return words + ["…"] }
                switch action {
                case .write(let token): words.append("write \(token.secret.reveal())")
                case .remove: words.append("remove")
                case .refresh(let token): words.append("refresh \(token.secret.reveal())")
                case .look: words.append("look")
                case .call: words.append("call")
                case .settle: words.append("settle")
                }
            }
            return words
        }

        var alarm: TimeInterval? { machine.alarm?.timeIntervalSince(start) }
    }

    @Test(arguments: [(0.0, 2400.0), (1, 2220), (0.5, 2310)])
    func `Renews a token at two thirds of its lifetime or slightly earlier`(
        random: Double, renewal: TimeInterval
    ) {
        var run = Run(random: random)
        #expect(run.observe(.token(Self.token()), at: 10) == ["write 1", "settle"])
        #expect(abs((run.alarm ?? 0) - renewal) < 0.01)
        #expect(run.actions(at: renewal - 1) == [])
        #expect(run.actions(at: renewal + 1) == ["refresh 1"])
        #expect(run.actions(at: renewal + 2) == [], "a refresh is under way")
        #expect(run.alarm == 3595)
        #expect(run.succeed(.token(Self.token("2", at: 2400)), at: 2402) == ["write 2"])
        #expect(abs((run.alarm ?? 0) - (2400 + renewal)) < 0.01)
    }

    @Test func `Writes an old token, then renews the token at once`() {
        var run = Run()
        #expect(run.observe(.token(Self.token()), at: 3000) == ["write 1", "refresh 1"])
        #expect(run.succeed(.token(Self.token("2", at: 3000)), at: 3001) == ["write 2", "settle"])
    }

    @Test func `Keeps the file offline until expiry, and retries at growing intervals`() {
        var run = Run(random: 1)
        let token = KeepStateMachine.Observation.token(Self.token())
        _ = run.observe(token, at: 0)
        var now = 2400.0
        var pauses: [TimeInterval] = []
        #expect(run.actions(at: now) == ["refresh 1"])
        while true {
            let actions = run.fail(token, at: now)
            if actions.contains("remove") { break }
            #expect(actions == [])
            let next = run.alarm ?? .infinity
            if next >= 3595 { break }
            pauses.append(next - now)
            now = next
            #expect(run.actions(at: now) == ["refresh 1"])
        }
        #expect(pauses.prefix(5) == [2, 4, 8, 16, 32] && pauses.dropFirst(5).allSatisfy { $0 == 60 }, "\(pauses)")
        #expect(run.actions(at: 3596).first == "remove")
        // The refreshes continue after the removal.
        #expect(run.fail(token, at: 3600) == [])
        #expect(run.actions(at: 3661) == ["refresh 1"])
        #expect(run.succeed(.token(Self.token("2", at: 3661)), at: 3662) == ["write 2"])
    }

    @Test func `Waits for the time that the service requests before the next refresh`() {
        var run = Run()
        let token = KeepStateMachine.Observation.token(Self.token())
        _ = run.observe(token, at: 2400)
        #expect(run.fail(token, pause: .seconds(250), at: 2400).contains("settle"))
        #expect(run.alarm == 2650)
    }

    @Test func `Removes an expired token before any other action after a suspension`() {
        var run = Run()
        _ = run.observe(.token(Self.token()), at: 0)
        #expect(run.actions(at: 8 * 3600) == ["remove", "refresh 1"])
        #expect(run.succeed(.token(Self.token("2", at: 8 * 3600)), at: 8 * 3600 + 1) == ["write 2"])
    }

    @Test func `Removes a killed process's token file unless a new token replaces it`() {
        for observation: KeepStateMachine.Observation in [
            .signedOut(.neverSignedIn), .unreadable(AccountError(.inaccessible, "")), .none(AccountError(.busy, "")),
            .token(Self.token(at: -7200)),
        ] {
            var run = Run()
            #expect(run.observe(observation, at: 0).first == "remove", "\(observation)")
        }
        var run = Run()
        #expect(run.observe(.token(Self.token()), at: 0).first == "write 1")
    }

    @Test func `Removes the token file and notifies the user once if the session ends`() {
        var run = Run()
        _ = run.observe(.token(Self.token()), at: 0)
        let ended = KeepStateMachine.Observation.signedOut(SignOut(.sessionEnded, date: Self.start))
        #expect(run.observe(ended, at: 60) == ["remove", "call"])
        for minute in 2...600 { #expect(run.observe(ended, at: TimeInterval(minute * 60)) == []) }
        #expect(run.alarm == nil)
        #expect(run.observe(.token(Self.token("2", at: 40_000)), at: 40_000) == ["write 2"])
        #expect(run.observe(ended, at: 40_060) == ["remove", "call"])
    }

    @Test func `Does not notify a user who signs out`() {
        var run = Run()
        _ = run.observe(.token(Self.token()), at: 0)
        #expect(run.observe(.signedOut(SignOut(.signedOutByUser, date: Self.start)), at: 60) == ["remove"])
    }

    @Test func `Notifies the user at the token's expiry if no refresh token exists`() {
        var run = Run()
        #expect(run.observe(.token(Self.token(isRenewable: false)), at: 0) == ["write 1", "settle"])
        #expect(run.alarm == 3595)
        #expect(run.actions(at: 3595) == ["remove", "call"])
        #expect(run.actions(at: 9999) == [] && run.alarm == nil)
    }

    @Test func `Writes a token without an expiry once`() {
        var run = Run()
        #expect(run.observe(.token(Self.token(life: nil)), at: 0) == ["write 1", "settle"])
        #expect(run.alarm == nil && run.actions(at: 1e9) == [])
    }

    @Test func `Does not repeat a refresh that returned the same token`() {
        var run = Run()
        let token = KeepStateMachine.Observation.token(Self.token())
        _ = run.observe(token, at: 2400)
        #expect(run.succeed(token, at: 2401) == ["settle"])
        #expect(run.alarm == 3595)
        #expect(run.actions(at: 3595) == ["remove", "call"])
        // Another process's refresh or sign-in provides a new token.
        #expect(run.observe(.token(Self.token("2", at: 4000)), at: 4000) == ["write 2"])
        #expect(run.alarm == 6400)
    }

    @Test func `Writes another process's token instead of refreshing`() {
        var run = Run()
        _ = run.observe(.token(Self.token()), at: 2400)
        let new = KeepStateMachine.Observation.token(Self.token("2", at: 2400))
        #expect(run.observe(new, at: 2401) == ["write 2"])
        #expect(run.succeed(new, at: 2402) == ["settle"])
        #expect(run.alarm == 4800)
    }

    @Test func `Keeps the token file while the archive is temporarily unreadable`() {
        var run = Run()
        _ = run.observe(.token(Self.token()), at: 0)
        let locked = KeepStateMachine.Observation.unreadable(AccountError(.noKey, "locked"))
        #expect(run.observe(locked, at: 100) == ["call"])
        #expect(run.alarm == 130)
        #expect(run.actions(at: 130) == ["look"])
        #expect(run.observe(locked, at: 130) == [])
        #expect(run.actions(at: 3600) == ["remove", "look"])
        // An inaccessible disk does not require the user's attention.
        var other = Run()
        #expect(other.observe(.unreadable(AccountError(.inaccessible, "")), at: 0) == ["remove", "settle"])
    }

    @Test func `Retries a failed write of the token file and keeps the previous token`() {
        var run = Run(random: 0)
        _ = run.observe(.token(Self.token()), at: 0)
        #expect(run.observe(.token(Self.token("2", at: 10)), at: 10) == ["write 2"])
        run.machine.writeFailed(at: Self.date(10))
        #expect(run.machine.kept?.secret == Secret("1"))
        #expect(run.actions(at: 10) == [] && run.alarm == 12)
        #expect(run.actions(at: 12) == ["write 2"])
        run.machine.writeFailed(at: Self.date(12))
        #expect(run.alarm == 16)
        #expect(run.actions(at: 3595) == ["remove", "write 2", "refresh 2"])
    }

    @Test func `Renews the kept token at once after the clock is set back or ahead`() {
        var run = Run()
        _ = run.observe(.token(Self.token()), at: 0)
        #expect(run.actions(at: -86_400) == ["refresh 1"])
        #expect(run.succeed(.token(Self.token("2", at: -86_400)), at: -86_400) == ["write 2"])
        #expect(run.actions(at: 0) == ["remove", "refresh 2"])
    }

    @Test func `Uses a shorter safety margin for a token with a short lifetime`() {
        #expect(Self.token(life: 3600).end == Self.date(3595))
        #expect(Self.token(life: 20).end == Self.date(19))
        #expect(Self.token(life: 0).isOver(at: Self.start))
        #expect(Self.token(life: -5).isOver(at: Self.start))
    }
}
