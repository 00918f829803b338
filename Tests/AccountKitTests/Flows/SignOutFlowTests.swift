@testable import AccountKit
import AccountTesting
import Testing

/// Every sequence of results of a sign-out. ``SharedStorageTests`` has the archive that other machines may open.
struct SignOutFlowTests {
    private typealias Run = FlowRun<Result<SignOutFlow.Ended, AccountError>>

    private static let signOut = SignOut(.signedOutByUser, date: Fixture.now)
    private static let failures: [EffectResult] = Fixture.failures.map { .failed($0) }
    private static let pending = RevocationQueue.Record(
        entry: ArchiveEntry(rawValue: "Revocation-1.plist"), revision: Fixture.other,
        payload: QueuedRevocation(of: Fixture.alice, at: Fixture.now))

    @Test(arguments: [true, false], [true, false])
    func `Reports a sign-out only if it happened, despite any failed calls`(
        isToBeTold: Bool, movesLocked: Bool
    ) async {
        let contents: [Vault.Content] =
            [.absent(.neverSignedIn), .present(Fixture.alice, Fixture.old)]
            + Fixture.unreadable.map { .unreadable($0) }
        let mayRemove: @Sendable (AccountError) -> Bool = { error in
            error.isAboutContent && (movesLocked || error.code != .noKey)
        }
        let flow = SignOutFlow(signOut: Self.signOut, revokesTokens: isToBeTold, mayRemove: mayRemove)
        let endCount = await Run.explore({ await flow.run($0) }) { run in
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
            if case .clear(let signOut, let revision) = run.action {
                #expect(signOut == Self.signOut && revision == Fixture.old)
                #expect(run.actions.contains("queue revocation") == isToBeTold, "a crash would lose the tokens")
            }
            if case .quarantine(let signOut) = run.action {
                guard signOut == Self.signOut, case .content(.unreadable(let error))? = events.last,
                    mayRemove(error)
                else {
                    Issue.record("an inaccessible or locked archive is moved: \(run.actions)")
                    return
                }
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
            case .success(.noUser): #expect(wasAbsent)
            case .failure: #expect(!wasCleared && !wasMoved)
            }
            #expect(run.actions.contains("clear") == wasPresent, "an unreadable archive is not cleared")
            #expect(run.actions.contains("queue revocation") == (wasPresent && isToBeTold))
            #expect(run.actions.contains("withdraw revocation") == (wasPresent && isToBeTold && !wasCleared))
        }
        #expect(endCount > 10)
    }
}
