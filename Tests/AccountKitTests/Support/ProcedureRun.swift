@testable import AccountKit
import Testing

/// Steps a procedure by hand: names what it wants done, and answers with what is to come of it.
struct ProcedureRun<Procedure: SessionProcedure> {
    private var procedure: Procedure
    private(set) var step: SessionStep<Procedure.Outcome>

    /// The names of all steps so far, the one that waits for its answer included.
    private(set) var steps: [String]

    init(_ procedure: Procedure) {
        self.procedure = procedure
        step = self.procedure.start()
        steps = [step.name]
    }

    /// How it ended; `nil` if it has not.
    var outcome: Procedure.Outcome? { if case .finish(let outcome) = step { outcome } else { nil } }

    /// Answers the step that waits.
    mutating func answer(_ event: SessionEvent) {
        step = procedure.resume(after: event)
        steps.append(step.name)
    }

    /// Makes sure that the step that waits is the one of this name, and answers it.
    mutating func expect(
        _ name: String, then event: SessionEvent, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try #require(step.name == name, sourceLocation: sourceLocation)
        answer(event)
    }
}

extension SessionStep {
    var name: String {
        switch self {
        case .load: "load"
        case .lock: "lock"
        case .lockSoon: "lock soon"
        case .prepareSave: "prepare save"
        case .setAside: "set aside"
        case .putBack: "put back"
        case .recordIntent: "record intent"
        case .forgetIntent: "forget intent"
        case .verify: "verify"
        case .requestTokens: "request tokens"
        case .refresh: "refresh"
        case .save: "save"
        case .keepUnsaved: "keep unsaved"
        case .queueRevocation: "queue revocation"
        case .withdrawRevocation: "withdraw revocation"
        case .clear: "clear"
        case .finish: "finish"
        }
    }
}

extension ProcedureRun {
    /// Runs a procedure through every sequence of answers, and visits each step on the way and each end.
    ///
    /// - Parameters:
    ///   - answers: What may come of a step, given the steps and answers before it.
    ///   - visit: Is shown each run at each of its steps.
    static func explore(
        _ procedure: Procedure, answers: (SessionStep<Procedure.Outcome>) -> [SessionEvent],
        visit: (ProcedureRun, [SessionEvent]) throws -> Void
    ) rethrows -> Int {
        var endCount = 0
        var open: [(run: ProcedureRun, events: [SessionEvent])] = [(ProcedureRun(procedure), [])]
        while let (run, events) = open.popLast() {
            try visit(run, events)
            if run.outcome != nil {
                endCount += 1
                continue
            }
            // No procedure is that long: one that is goes round in circles.
            guard events.count < 20 else {
                Issue.record("\(run.steps) does not end")
                continue
            }
            for answer in answers(run.step) {
                var next = run
                next.answer(answer)
                open.append((next, events + [answer]))
            }
        }
        return endCount
    }
}
