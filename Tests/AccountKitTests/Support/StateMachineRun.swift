@testable import AccountKit
import Testing

/// Steps a state machine by hand: names what it wants done, and answers with what is to come of it.
struct StateMachineRun<Machine: SessionStateMachine> {
    private var machine: Machine
    private(set) var action: SessionAction<Machine.Outcome>

    /// The names of all actions so far, the one that waits for its answer included.
    private(set) var actions: [String]

    init(_ machine: Machine) {
        self.machine = machine
        action = self.machine.start()
        actions = [action.name]
    }

    /// How it ended; `nil` if it has not.
    var outcome: Machine.Outcome? { if case .finish(let outcome) = action { outcome } else { nil } }

    /// Answers the action that waits.
    mutating func answer(_ event: SessionEvent) {
        action = machine.resume(after: event)
        actions.append(action.name)
    }

    /// Whether others have to wait for the lock now.
    ///
    /// - Parameter events: What came of the actions so far.
    func isInTransaction(after events: [SessionEvent]) -> Bool {
        var isInTransaction = false
        for (name, event) in zip(actions, events) {
            if name == "renew lease" { isInTransaction = false }
            guard case .done = event else { continue }
            if name == "begin" || name == "begin soon" { isInTransaction = true }
            if name == "end" { isInTransaction = false }
        }
        return isInTransaction
    }

    /// Makes sure that the action that waits is the one of this name, and answers it.
    mutating func expect(
        _ name: String, then event: SessionEvent, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try #require(action.name == name, sourceLocation: sourceLocation)
        answer(event)
    }
}

extension SessionAction {
    var name: String {
        switch self {
        case .load: "load"
        case .beginTransaction: "begin"
        case .beginTransactionSoon: "begin soon"
        case .endTransaction: "end"
        case .renewLease: "renew lease"
        case .prepareExchange: "prepare exchange"
        case .prepareSave: "prepare save"
        case .recordIntent: "record intent"
        case .beginExchange: "begin exchange"
        case .recordFailure: "record failure"
        case .forgetRefreshRecord: "forget refresh record"
        case .verify: "verify"
        case .requestTokens: "request tokens"
        case .deriveToken: "derive token"
        case .refresh: "refresh"
        case .save: "save"
        case .queueRevocation: "queue revocation"
        case .withdrawRevocation: "withdraw revocation"
        case .revoke: "revoke"
        case .keepUnsaved: "keep unsaved"
        case .quarantine: "quarantine"
        case .clear: "clear"
        case .finish: "finish"
        }
    }
}

extension StateMachineRun {
    /// Runs a state machine through every sequence of answers, and visits each action on the way and each end.
    ///
    /// - Parameters:
    ///   - limit: How many actions a run has at most. A longer run does not end.
    ///   - answers: What may come of an action, given those before it and what came of them.
    ///   - visit: Is shown each run at each of its actions.
    static func explore(
        _ machine: Machine, limit: Int = 32, answers: (StateMachineRun) -> [SessionEvent],
        visit: (StateMachineRun, [SessionEvent]) throws -> Void
    ) async rethrows -> Int {
        var endCount = 0
        var open: [(run: StateMachineRun, events: [SessionEvent])] = [(StateMachineRun(machine), [])]
        while let (run, events) = open.popLast() {
            // It takes seconds, and other tests watch the clock.
            await Task.yield()
            try visit(run, events)
            if run.outcome != nil {
                endCount += 1
                continue
            }
            guard events.count < limit else {
                Issue.record("\(run.actions) does not end")
                continue
            }
            for answer in answers(run) {
                var next = run
                next.answer(answer)
                open.append((next, events + [answer]))
            }
        }
        return endCount
    }
}
