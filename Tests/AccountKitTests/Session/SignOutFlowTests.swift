@testable import AccountKit
import AccountTesting
import Testing

struct SignOutFlowTests {
    private typealias Run = FlowRun<Result<SignOutFlow.Ended, AccountError>>

    private static let signOut = SignOut(.signedOutByUser, date: Fixture.now)
    private static let failures: [EffectResult] = Fixture.failures.map { .failed($0) }
    private static let pending = RevocationQueue.Pending(
        entry: ArchiveEntry(rawValue: "Revocation-1.plist"), revision: Fixture.other,
        payload: QueuedRevocation(of: Fixture.alice, at: Fixture.now))

    @Test func `Clears and returns the account on sign-out`() async throws {
        var run = await Run(SignOutFlow(signOut: Self.signOut, revokesTokens: false))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.bob, Fixture.other)))
        guard case .clear(Self.signOut, Fixture.other) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        await run.answer(.done)
        guard case .success(.account(let account, nil)) = run.outcome else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(account == Fixture.bob)
    }

    @Test func `Queues the tokens before clearing the account on sign-out`() async throws {
        var run = await Run(SignOutFlow(signOut: Self.signOut, revokesTokens: true))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        try await run.expect("queue revocation", then: .queued(Self.pending))
        try await run.expect("clear", then: .done)
        guard case .success(.account(_, let pending?)) = run.outcome else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(pending.entry == Self.pending.entry)
    }

    @Test(arguments: Fixture.unreadable, [true, false])
    func `Quarantines a damaged archive on sign-out, but no inaccessible archive`(
        error: AccountError, isToBeTold: Bool
    ) async throws {
        var run = await Run(SignOutFlow(signOut: Self.signOut, revokesTokens: isToBeTold))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.unreadable(error)))
        if error.code == .inaccessible || error.code == .insecureContainer {
            expectAccountError(error.code) { try run.outcome?.get() }
            return
        }
        guard case .quarantine(Self.signOut) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        await run.answer(.quarantined(place: "aside"))
        guard case .success(.quarantined(place: "aside")) = run.outcome else {
            Issue.record("\(run.actions)")
            return
        }
    }

    @Test(arguments: Fixture.unreadable, [true, false])
    func `Keeps an unreadable archive on sign-out if other machines may open it`(
        error: AccountError, isToBeTold: Bool
    ) async throws {
        var run = await Run(SignOutFlow(signOut: Self.signOut, revokesTokens: isToBeTold, keepsUnreadable: true))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.unreadable(error)))
        expectAccountError(error.code) { try run.outcome?.get() }
        #expect(run.outcome != nil)
    }

    @Test(arguments: [true, false])
    func `Reports a sign-out only if it happened, despite any failed calls`(isToBeTold: Bool) async {
        let contents: [ArchiveReader.Content] =
            [.absent(.neverSignedIn), .present(Fixture.alice, Fixture.old)]
            + Fixture.unreadable.map { .unreadable($0) }
        let endCount = await Run.explore(SignOutFlow(signOut: Self.signOut, revokesTokens: isToBeTold)) { run in
            switch run.action {
            case .load: contents.map { .content($0) }
            case .queueRevocation: Self.failures + [.queued(Self.pending)]
            case .quarantine: Self.failures + [.quarantined(place: "aside")]
            default: Self.failures + [.done]
            }
        } visit: { run, events in
            switch run.action {
            case .beginTransaction, .finish: break
            default: #expect(run.isInTransaction(after: events), "\(run.actions)")
            }
            guard let outcome = run.outcome else { return }
            let wasPresent = events.contains { if case .content(.present) = $0 { true } else { false } }
            let wasAbsent = events.contains { if case .content(.absent) = $0 { true } else { false } }
            let wasMoved = events.contains { if case .quarantined = $0 { true } else { false } }
            let wasCleared = zip(run.actions, events).contains { name, event in
                if name == "clear", case .done = event { true } else { false }
            }
            let isQueued = events.contains { if case .queued = $0 { true } else { false } }
            switch outcome {
            case .success(.account(let account, let pending)):
                #expect(account == Fixture.alice && wasCleared)
                #expect((pending != nil) == isQueued)
            case .success(.quarantined): #expect(wasMoved)
            case .success(.nobody): #expect(wasAbsent)
            case .failure: #expect(!wasAbsent && !wasCleared && !wasMoved)
            }
            #expect(run.actions.contains("clear") == wasPresent, "an unreadable archive is not cleared")
            #expect(run.actions.contains("queue revocation") == (wasPresent && isToBeTold))
            #expect(run.actions.contains("withdraw revocation") == (wasPresent && isToBeTold && !wasCleared))
        }
        #expect(endCount > 10)
    }
}
