import AccountCommands
import AccountKit
import Synchronization
import AccountSupport

/// Reports events of a token file to the user, and wakes the loop.
final class KeepHost: KeepSurroundings {
    private struct State {
        var isWritten = false
        var need: String?
        var failure: String?
        var alarm: Task<Void, Never>?
    }

    private let state = Mutex(State())
    private let path: String
    private let hint: CommandHint
    private let isOnce: Bool
    private let clock: any WallClock
    private let ring: @Sendable () -> Void

    /// The time in seconds after which the loop reads the clock, which may have been set. The machine may also have slept.
    private static let longestSleep: TimeInterval = 30

    /// If `isOnce` is `true`, the command updates the file once. The user sees the outcome, so there is no notification.
    init(path: String, hint: CommandHint, isOnce: Bool, clock: any WallClock, ring: @escaping @Sendable () -> Void) {
        self.path = path
        self.hint = hint
        self.isOnce = isOnce
        self.clock = clock
        self.ring = ring
    }

    func setAlarm(_ date: Date?) {
        let alarm = date.map { date in
            let seconds = min(max(date.timeIntervalSince(clock.now), 0), Self.longestSleep)
            return Task { [ring] in
                // A cancelled sleep means that another alarm replaces this one.
                if (try? await Task.sleep(for: .seconds(seconds))) != nil { ring() }
            }
        }
        let replaced = state.withLock { state in
            defer { state.alarm = alarm }
            return state.alarm
        }
        replaced?.cancel()
    }

    func report(_ report: KeepReport) {
        switch report {
        case .written(let token):
            let isFirst = state.withLock { state in
                defer { (state.isWritten, state.need, state.failure) = (true, nil, nil) }
                return state.need != nil || state.failure != nil || !state.isWritten
            }
            if isFirst, !isOnce { say("\(path) has \(text(token)).") }
        case .removed:
            state.withLock { $0.isWritten = false }
            say("\(path) was removed.")
        case .needsPerson(let need):
            guard !isOnce else { return }
            let text = text(need)
            state.withLock { $0.need = text }
            say("\(text) Waiting.")
            notify(text)
        case .failed(let error, let isFirst):
            state.withLock { $0.failure = error.userText }
            if isFirst, !isOnce { say(error.userText) }
        case .stopping:
            guard Terminal.isTerminal(.error), let limit = SignalGuard.shared.timeLeft else { return }
            say("Finishing requests to the service first, for at most \(limit.wholeSeconds) s.")
        }
    }

    /// The last error, if the file has not been written since.
    var failure: String? { state.withLock(\.failure) }

    private func say(_ text: String) {
        let place = hint.session == .default ? "" : " (session \(hint.session))"
        Terminal.say("\(hint.tool) keep\(place): \(text)")
    }

    private func text(_ token: KeptToken) -> String {
        "a token" + (token.expiresAt.map { " that is valid until \(StateText.date($0))" } ?? "")
    }

    private func text(_ need: KeepStateMachine.Need) -> String {
        let login = "`\(hint.command("login"))`"
        switch need {
        case .signIn(let signOut): return StateText.explanation(of: signOut, hint)
        case .signInAgain(let token):
            let end = token.expiresAt.map { " on \(StateText.date($0))" } ?? ""
            return "The token expired\(end), and the service issues no new token without a sign-in. Run \(login)."
        case .repair(let error): return "\(error.userText)."
        }
    }

    /// Notifies the user on the desktop. Does not wait, and ignores a missing desktop.
    private func notify(_ text: String) {
        let place = hint.session == .default ? hint.tool : "\(hint.tool), session \(hint.session)"
        ExternalProgram.launch(
            firstOf: [.init(["notify-send", "--app-name=\(hint.tool)", "--icon=dialog-password", "--", place, text])])
    }
}
