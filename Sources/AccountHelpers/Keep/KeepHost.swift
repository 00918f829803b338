import AccountCommands
import AccountKit
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reports events of a token file to the user, the service manager and the hook.
final class KeepHost: KeepSurroundings {
    private struct State {
        var isReady = false
        var status = ""
        var need: String?
        var failure: String?
    }

    private let state = Mutex(State())
    private let path: String
    private let hint: CommandHint
    private let manager = ServiceManager()
    private let alarm: WallAlarm?
    private let hooks: KeepHooks
    private let clock: any WallClock

    /// If `alarm` is `nil`, the command updates the file once. The user sees the outcome, so there is no notification.
    init(
        path: String, hint: CommandHint, hook: String?, prefix: String, alarm: WallAlarm?, clock: any WallClock
    ) {
        self.path = path
        self.hint = hint
        self.alarm = alarm
        self.clock = clock
        hooks = KeepHooks(hook, prefix: prefix, session: hint.session) {
            Terminal.say("\(hint.tool): \($0)")
        }
    }

    func setAlarm(_ date: Date?) {
        manager.tell("WATCHDOG=1")
        let nextSign = manager.watchdogInterval.map { clock.now.addingTimeInterval($0) }
        alarm?.set([date, nextSign].compactMap(\.self).min())
    }

    func report(_ report: KeepReport) {
        switch report {
        case .written(let token):
            let isFirst = state.withLock { state in
                defer { (state.need, state.failure) = (nil, nil) }
                return state.need != nil || state.failure != nil || !state.isReady
            }
            if isFirst, alarm != nil { say("\(path) has \(text(token)).") }
            hooks.run(.written)
        case .removed:
            say("\(path) was removed.")
            hooks.run(.removed)
        case .needsPerson(let need):
            guard alarm != nil else { return }
            let text = text(need)
            state.withLock { $0.need = text }
            say("\(text) Waiting.")
            hooks.run(.attention)
            notify(text)
        case .failed(let error, let isFirst):
            state.withLock { $0.failure = error.userText }
            if isFirst, alarm != nil { say(error.userText) }
        case .standing(let kept, let renewal, let isSettled):
            tellManager(kept, renewal, isSettled)
        case .stopping:
            manager.tell("STOPPING=1\nSTATUS=Finishing requests to the service")
            guard Terminal.isTerminal(.error), let limit = SignalGuard.shared.timeLeft else { return }
            say("Finishing requests to the service first, for at most \(limit.wholeSeconds) s.")
        }
    }

    /// The last error, if the file has not been written since.
    var failure: String? { state.withLock(\.failure) }

    func finish() async { await hooks.finish(within: .seconds(10)) }

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

    private func tellManager(_ kept: KeptToken?, _ renewal: Date?, _ isSettled: Bool) {
        let isFirst: Bool
        let status: String?
        (isFirst, status) = state.withLock { state in
            var text = kept.map { "\(path) has \(self.text($0))" } ?? "There is no token"
            if let renewal, state.need == nil { text += "; the next refresh is at \(StateText.date(renewal))" }
            if let problem = state.need ?? state.failure { text += ". \(problem)" }
            defer { (state.status, state.isReady) = (text, state.isReady || isSettled) }
            return (isSettled && !state.isReady, text == state.status ? nil : text)
        }
        let line = status.map { "STATUS=" + $0.split(separator: "\n").joined(separator: " ") }
        if isFirst {
            manager.tell("READY=1", line ?? "STATUS=")
        } else if let line {
            manager.tell(line)
        }
    }

    /// Notifies the user on the desktop. Does not wait, and ignores a missing desktop.
    private func notify(_ text: String) {
        let place = hint.session == .default ? hint.tool : "\(hint.tool), session \(hint.session)"
        ExternalProgram.launch(
            firstOf: [.init(["notify-send", "--app-name=\(hint.tool)", "--icon=dialog-password", "--", place, text])],
            hiding: ServiceManager.variables)
    }
}
