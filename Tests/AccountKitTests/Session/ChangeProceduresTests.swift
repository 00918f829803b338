@testable import AccountKit
import AccountTesting
import Testing

/// Signing in, signing out, and changing the account.
struct ChangeProceduresTests {
    private static let signOut = SignOut(.signedOutByUser, date: Fixture.now)
    private static let failures: [SessionEvent] = Fixture.failures.map { .failed($0) }

    // MARK: Signing in

    @Test func `A sign-in takes the place of what is there, at the revision that is there`() throws {
        for (content, revision) in [
            (AccountArchive.Content.absent(.neverSignedIn), nil), (.present(Fixture.alice, Fixture.old), Fixture.old),
            (.present(Fixture.bob, Fixture.other), Fixture.other),
        ] {
            var run = ProcedureRun(SignInProcedure(Fixture.alice))
            try run.expect("lock", then: .done)
            try run.expect("load", then: .content(content))
            guard case .save(let account, let saved) = run.step else {
                Issue.record("\(run.steps)")
                return
            }
            #expect(account == Fixture.alice)
            #expect(saved == revision)
            run.answer(.saved(account))
            #expect(try run.outcome?.get() == Fixture.alice)
        }
    }

    @Test(arguments: Fixture.unreadable)
    func `An archive that does not open is set aside, one that cannot be reached is left alone`(
        error: AccountError
    ) throws {
        var run = ProcedureRun(SignInProcedure(Fixture.alice))
        try run.expect("lock", then: .done)
        try run.expect("load", then: .content(.unreadable(error)))
        if error.code == .inaccessible || error.code == .insecureContainer {
            expectAccountError(error.code) { try run.outcome?.get() }
        } else {
            try run.expect("set aside", then: .setAside(place: "aside"))
            try run.expect("save", then: .saved(Fixture.alice))
            #expect(try run.outcome?.get() == Fixture.alice)
        }
    }

    @Test(arguments: Fixture.failures)
    func `An archive that was set aside is put back if nothing takes its place`(error: AccountError) throws {
        for putBack in [SessionEvent.done, .failed(AccountError(.inaccessible, ""))] {
            var run = ProcedureRun(SignInProcedure(Fixture.alice))
            try run.expect("lock", then: .done)
            try run.expect("load", then: .content(.unreadable(AccountError(.damaged, ""))))
            try run.expect("set aside", then: .setAside(place: "aside"))
            try run.expect("save", then: .failed(error))
            guard case .putBack(from: "aside") = run.step else {
                Issue.record("what could not be read has become nothing at all: \(run.steps)")
                return
            }
            run.answer(putBack)
            expectAccountError(error.code) { try run.outcome?.get() }
        }
    }

    @Test func `Whatever fails, a sign-in that failed has changed nothing`() {
        let contents: [AccountArchive.Content] =
            [.absent(.neverSignedIn), .present(Fixture.bob, Fixture.other)] + Fixture.unreadable.map { .unreadable($0) }
        let endCount = ProcedureRun.explore(SignInProcedure(Fixture.alice)) { step in
            switch step {
            case .load: contents.map { .content($0) }
            case .save(let account, _): Self.failures + [.saved(account)]
            case .setAside: Self.failures + [.setAside(place: "aside")]
            default: Self.failures + [.done]
            }
        } visit: { run, events in
            #expect(!run.steps.contains("clear"))
            guard let outcome = run.outcome else { return }
            let isSaved = events.contains { if case .saved = $0 { true } else { false } }
            let isAside = events.contains { if case .setAside = $0 { true } else { false } }
            #expect((try? outcome.get()) == (isSaved ? Fixture.alice : nil), "\(run.steps)")
            #expect(run.steps.contains("put back") == (isAside && !isSaved), "\(run.steps)")
        }
        #expect(endCount > 20)
    }

    // MARK: Signing out

    @Test func `A sign-out clears what is there, and tells whom`() throws {
        var run = ProcedureRun(SignOutProcedure(Self.signOut, isToBeTold: false))
        try run.expect("lock", then: .done)
        try run.expect("load", then: .content(.present(Fixture.bob, Fixture.other)))
        guard case .clear(Self.signOut, Fixture.other) = run.step else {
            Issue.record("\(run.steps)")
            return
        }
        run.answer(.done)
        try run.expect("forget intent", then: .failed(AccountError(.inaccessible, "")))
        #expect(try run.outcome?.get()?.account == Fixture.bob, "a record too many is harmless")
    }

    @Test(arguments: [true, false])
    func `Whatever fails, nobody is told of a sign-out that did not happen`(isToBeTold: Bool) {
        let contents: [AccountArchive.Content] =
            [.absent(.neverSignedIn), .present(Fixture.alice, Fixture.old)]
            + Fixture.unreadable.map { .unreadable($0) }
        let endCount = ProcedureRun.explore(SignOutProcedure(Self.signOut, isToBeTold: isToBeTold)) { step in
            if case .load = step { contents.map { .content($0) } } else { Self.failures + [.done] }
        } visit: { run, events in
            guard let outcome = run.outcome else { return }
            let wasPresent = events.contains { if case .content(.present) = $0 { true } else { false } }
            let wasAbsent = events.contains { if case .content(.absent) = $0 { true } else { false } }
            let wasCleared = zip(run.steps, events).contains { name, event in
                if name == "clear", case .done = event { true } else { false }
            }
            switch outcome {
            case .success(let ended?):
                #expect(ended.account == Fixture.alice && wasCleared)
                let isQueued = zip(run.steps, events).contains { name, event in
                    if name == "queue revocation", case .done = event { true } else { false }
                }
                #expect(ended.isQueued == isQueued)
            case .success(nil): #expect(wasAbsent)
            case .failure: #expect(!wasAbsent && !wasCleared)
            }
            #expect(run.steps.contains("clear") == wasPresent, "what cannot be read is not cleared")
            #expect(run.steps.contains("queue revocation") == (wasPresent && isToBeTold))
            #expect(run.steps.contains("withdraw revocation") == (wasPresent && isToBeTold && !wasCleared))
        }
        #expect(endCount > 10)
    }

    // MARK: Changing

    @Test func `A change is made to what is stored by then`() throws {
        var run = ProcedureRun(UpdateProcedure { $0.profile.points = 7 })
        try run.expect("lock", then: .done)
        try run.expect("load", then: .content(.present(Fixture.renamed, Fixture.other)))
        guard case .save(let account, let revision) = run.step else {
            Issue.record("\(run.steps)")
            return
        }
        #expect(revision == Fixture.other)
        #expect(account.profile.nickname == "Ally")
        #expect(account.profile.points == 7)
    }

    @Test func `A change that throws stores nothing`() throws {
        var run = ProcedureRun(UpdateProcedure { _ throws(AccountError) in throw AccountError(.invalidArgument, "no") })
        try run.expect("lock", then: .done)
        try run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        expectAccountError(.invalidArgument) { try run.outcome?.get() }
    }

    @Test func `Whatever fails, a change that failed has changed nothing`() {
        let contents: [AccountArchive.Content] =
            [.absent(.neverSignedIn), .present(Fixture.alice, Fixture.old)]
            + Fixture.unreadable.map { .unreadable($0) }
        let endCount = ProcedureRun.explore(UpdateProcedure { $0.profile.points = 7 }) { step in
            switch step {
            case .load: contents.map { .content($0) }
            case .save(let account, _): Self.failures + [.saved(account)]
            default: Self.failures + [.done]
            }
        } visit: { run, events in
            guard let outcome = run.outcome else { return }
            let isSaved = events.contains { if case .saved = $0 { true } else { false } }
            #expect((try? outcome.get())?.profile.points == (isSaved ? 7 : nil), "\(run.steps)")
            #expect(!run.steps.contains("clear") && !run.steps.contains("set aside"), "\(run.steps)")
        }
        #expect(endCount > 10)
    }
}
