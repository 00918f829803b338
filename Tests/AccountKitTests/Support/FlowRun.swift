@testable import AccountKit
import Testing

/// Runs a session flow step by step: shows which effect it calls next, and accepts the result.
///
/// Each answer replays the flow from the start with all earlier results, so a run is a value that can be copied and
/// continued in different ways.
struct FlowRun<Outcome: Sendable> {
    typealias Flow = (ScriptedEffects) async -> Outcome

    private let flow: Flow

    /// The results so far.
    private(set) var results: [EffectResult]

    /// All calls so far, including the pending one.
    private(set) var calls: [EffectCall]

    /// The names of ``calls``.
    private(set) var actions: [String]

    /// The pending call.
    var action: EffectCall { calls[calls.count - 1] }

    init(_ flow: @escaping Flow) async {
        self.init(flow, results: [], calls: [], actions: [], outcome: nil)
        await replay()
    }

    private init(
        _ flow: @escaping Flow, results: [EffectResult], calls: [EffectCall], actions: [String], outcome: Outcome?
    ) {
        self.flow = flow
        self.results = results
        self.calls = calls
        self.actions = actions
        self.outcome = outcome
    }

    /// The result of the flow, or `nil` if it has not ended.
    private(set) var outcome: Outcome?

    /// Answers the pending call.
    mutating func answer(_ result: EffectResult) async {
        guard outcome == nil else {
            Issue.record("the flow has ended: \(actions)")
            return
        }
        results.append(result)
        await replay()
    }

    /// Checks the name of the pending call, and answers it.
    mutating func expect(
        _ name: String, then result: EffectResult, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try #require(action.name == name, sourceLocation: sourceLocation)
        await answer(result)
    }

    private mutating func replay() async {
        let results = results
        var calls: [EffectCall] = []
        let effects = ScriptedEffects { call, index in
            calls.append(call)
            return index < results.count ? results[index] : nil
        }
        let outcome = await flow(effects)
        if effects.unanswered == nil {
            self.outcome = outcome
            calls.append(.finish)
        }
        self.calls = calls
        actions = calls.map(\.name)
    }

    /// Whether the flow has the lock now.
    func isInTransaction(after results: [EffectResult]) -> Bool {
        var isInTransaction = false
        for index in results.indices {
            switch actions[index] {
            case "renew lease", "end": isInTransaction = false
            case "begin", "begin soon": if case .done = results[index] { isInTransaction = true }
            default: break
            }
        }
        return isInTransaction
    }

    /// Runs a flow with every sequence of results, and visits each call and each end.
    ///
    /// The search is depth-first. A flow cannot be copied while it runs, so each path runs the flow from the start.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of calls of a run. A longer run does not end.
    ///   - answers: The possible results of the pending call.
    ///   - visit: Receives each run at each of its calls, with the results before it.
    /// - Returns: The number of paths.
    static func explore(
        _ flow: @escaping Flow, limit: Int = 32, answers: @escaping (FlowRun) -> [EffectResult],
        visit: @escaping (FlowRun, [EffectResult]) -> Void
    ) async -> Int {
        // The calls of the current path: their possible results, and the index of the current one.
        var open: [(answers: [EffectResult], index: Int)] = []
        var calls: [EffectCall] = []
        var actions: [String] = []
        var results: [EffectResult] = []
        var endCount = 0
        func result(of call: EffectCall, _ index: Int) -> EffectResult? {
            // The calls before this one were visited on an earlier path.
            if index == open.count {
                calls.append(call)
                actions.append(call.name)
                let run = FlowRun(flow, results: results, calls: calls, actions: actions, outcome: nil)
                visit(run, results)
                guard index < limit else {
                    Issue.record("\(actions) does not end")
                    return nil
                }
                open.append((answers(run), 0))
            }
            let result = open[index].answers[open[index].index]
            if index == results.count { results.append(result) }
            return result
        }
        repeat {
            // Yield, because the search takes seconds and other tests measure time.
            await Task.yield()
            let effects = ScriptedEffects(script: result)
            let outcome = await flow(effects)
            if effects.unanswered == nil {
                let end = EffectCall.finish
                visit(
                    FlowRun(
                        flow, results: results, calls: calls + [end], actions: actions + [end.name], outcome: outcome),
                    results)
                endCount += 1
            }
            // The next path differs in the last call that has another result.
            while let last = open.last, last.index == last.answers.count - 1 { open.removeLast() }
            calls.removeLast(calls.count - open.count)
            actions.removeLast(actions.count - open.count)
            results.removeLast(results.count - max(0, open.count - 1))
            if !open.isEmpty { open[open.count - 1].index += 1 }
        } while !open.isEmpty
        return endCount
    }
}
