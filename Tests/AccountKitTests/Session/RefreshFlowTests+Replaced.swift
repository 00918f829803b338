@testable import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What came in between the request and its response.
extension RefreshFlowTests {
    @Test func `A response that comes after a sign-out changes nothing, and its tokens are revoked`() async throws {
        var runs = [try await comparing(to: .absent(Fixture.ended))]
        // The same in spite of the lock.
        var superseded = try await saving()
        try await superseded.lose(then: .absent(Fixture.ended))
        runs.append(superseded)
        for run in runs {
            for event in [EffectResult.queued(Fixture.pending), .failed(Fixture.diskFull)] {
                var run = run
                guard case .queueRevocation(let account, isSignOut: false) = run.action else {
                    Issue.record("live tokens are dropped: \(run.actions)")
                    return
                }
                #expect(account.credentials.hasSameTokens(as: Fixture.newTokens))
                await run.answer(event)
                // The service may be slow, so nobody waits for the lock meanwhile.
                try await run.expect("end", then: .done)
                guard case .revoke(let revoked, let pending) = run.action else {
                    Issue.record("live tokens are dropped: \(run.actions)")
                    return
                }
                #expect(revoked.credentials.hasSameTokens(as: Fixture.newTokens))
                if case .queued = event { #expect(pending != nil) } else { #expect(pending == nil) }
                await run.answer(.done)
                #expect(run.outcome?.text == "signed out: signedOutByUser")
                #expect(run.actions.count { $0 == "save" } <= 1 && !run.actions.contains("forget refresh record"))
            }
        }
    }

    @Test(
        arguments: [
            // Who is signed in by then, whether a revocation leaves the user's other sign-ins alone, whether there is one.
            (Fixture.bob, false, true), (Fixture.bob, true, true), (Fixture.replaced, true, true),
            (Fixture.replaced, false, false),
        ])
    func `A response that comes after another sign-in changes nothing, and its tokens do not live on`(
        stored: Account, supportsPerGrantRevocation: Bool, isRevoked: Bool
    ) async throws {
        let content = AccountArchive.Content.present(stored, Fixture.other)
        var superseded = try await comparing(
            to: .present(Fixture.alice, Fixture.old), supportsPerGrantRevocation: supportsPerGrantRevocation)
        try await superseded.expect("withdraw revocation", then: .done)
        try await superseded.lose(then: content)
        // Who had lost the lock may have lost the lease, and does not know whether what is stored is of the same sign-in.
        let isSpared = stored.isSameUser(as: Fixture.alice)
        let plain = try await comparing(to: content, supportsPerGrantRevocation: supportsPerGrantRevocation)
        for (run, isRevoked) in [(plain, isRevoked), (superseded, isRevoked && !isSpared)] {
            var run = run
            if isRevoked {
                try await run.expect("queue revocation", then: .queued(Fixture.pending))
                try await run.expect("end", then: .done)
                try await run.expect("revoke", then: .done)
            }
            #expect(run.outcome?.text == "adopted \(stored.credentials.accessToken.reveal())")
        }
    }

    @Test func `Of another sign-in with the same refresh token nothing is revoked`() async throws {
        // The response has no refresh token of its own, so that the new access token shares that of what is stored.
        let stored = Fixture.alice.with(token: "another", refreshToken: "refresh-1")
        var run = try await asking(supportsPerGrantRevocation: true)
        await run.answer(.renewed(Credentials(accessToken: Secret("access-2"), issuedAt: Fixture.now)))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(stored, Fixture.other)))
        #expect(run.outcome?.text == "adopted another")
    }

    @Test func `A response that comes when the archive cannot be read any more is remembered`() async throws {
        var run = try await comparing(to: .unreadable(AccountError(.damaged, "")))
        await expectRemembered(&run)
        #expect(run.outcome?.text == "unreadable: damaged")
    }

    /// That the new tokens are kept in memory, in place of those that were spent for them.
    private func expectRemembered(_ run: inout Run) async {
        guard case .keepUnsaved(let account, let spent, Fixture.old) = run.action else {
            Issue.record("the token is spent, and its successor is lost: \(run.actions)")
            return
        }
        #expect(account.credentials.accessToken == Secret("access-2"))
        #expect(spent == Fixture.alice)
        await run.answer(.done)
    }

    @Test(arguments: Fixture.failures)
    func `A response that comes when the lock cannot be had is remembered`(error: AccountError) async throws {
        var run = try await asking()
        try await run.expect("request tokens", then: .renewed(Fixture.newTokens))
        try await run.expect("begin", then: .failed(error))
        await expectRemembered(&run)
        #expect(run.outcome?.text == "unsaved access-2: \(error.code)")
    }

    @Test func `A response that comes after a change of the profile is stored with the change`() async throws {
        var run = try await comparing(to: .present(Fixture.renamed, Fixture.other))
        try await run.expect("withdraw revocation", then: .done)
        guard case .save(let account, Fixture.other) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(account.credentials.accessToken == Secret("access-2"))
        #expect(account.profile.nickname == "Ally")
    }

    @Test func `What a sign-out that died has queued is withdrawn before the new tokens are saved`() async throws {
        for event in [EffectResult.done, .failed(Fixture.diskFull), .failed(Fixture.conflict)] {
            var run = try await comparing(to: .present(Fixture.alice, Fixture.old))
            guard case .withdrawRevocation(let account) = run.action else {
                Issue.record("\(run.actions)")
                return
            }
            #expect(account.credentials.hasSameTokens(as: Fixture.alice.credentials), "those that were spent")
            await run.answer(event)
            #expect(run.action.name == "save", "saving comes first")
        }
    }

    @Test func `Who has lost the lock takes it again, and stores the response with what was changed meanwhile`()
        async throws
    {
        var run = try await saving()
        try await run.lose(then: .present(Fixture.renamed, Fixture.other))
        try await run.expect("withdraw revocation", then: .done)
        guard case .save(let account, let revision) = run.action else {
            Issue.record("the token is spent, and its successor is lost: \(run.actions)")
            return
        }
        #expect(revision == Fixture.other)
        #expect(account.credentials.accessToken == Secret("access-2"))
        #expect(account.profile.nickname == "Ally")
        await run.answer(.saved(account))
        try await run.expect("forget refresh record", then: .done)
        #expect(run.outcome?.text == "renewed access-2")
    }

    /// One that has lost the lock, and has looked at what is stored by now.
    private func renewing(then content: AccountArchive.Content, supportsPerGrantRevocation: Bool = true) async throws
        -> Run
    {
        var run = try await comparing(
            to: .present(Fixture.alice, Fixture.old), supportsPerGrantRevocation: supportsPerGrantRevocation)
        try await run.expect("withdraw revocation", then: .done)
        try await run.lose(then: content)
        return run
    }

    @Test func `After a lost lease nothing is revoked that may be of the same sign-in as what is stored`() async throws
    {
        // Some services accept a spent token for a while, and give each of two new ones.
        let run = try await renewing(then: .present(Fixture.replaced, Fixture.other))
        #expect(run.outcome?.text == "adopted other-access")
        for content in [AccountArchive.Content.present(Fixture.bob, Fixture.other), .absent(Fixture.ended)] {
            let run = try await renewing(then: content)
            #expect(run.action.name == "queue revocation", "live tokens are dropped: \(run.actions)")
        }
    }

    @Test func `Tokens that nobody wants any more are queued under another lease`() async throws {
        var run = try await comparing(to: .absent(Fixture.ended))
        try await run.expect("queue revocation", then: .failed(Fixture.conflict))
        var alone = run
        try await run.expect("renew lease", then: .done)
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.absent(Fixture.ended)))
        try await run.expect("queue revocation", then: .queued(Fixture.pending))
        try await run.expect("end", then: .done)
        // Without a lease, the service is told all the same.
        try await alone.expect("renew lease", then: .failed(Fixture.diskFull))
        for var run in [run, alone] {
            try await run.expect("revoke", then: .done)
            #expect(run.outcome?.text == "signed out: signedOutByUser")
        }
    }

    @Test func `Without another lease, or after a third conflict, the response is remembered`() async throws {
        var last = try await renewing(then: .present(Fixture.renamed, Fixture.other))
        try await last.expect("withdraw revocation", then: .done)
        try await last.lose(then: .present(Fixture.renamed, Fixture.other))
        try await last.expect("withdraw revocation", then: .failed(Fixture.conflict))
        try await last.expect("save", then: .failed(Fixture.conflict))
        var none = try await saving()
        try await none.lose(then: .present(Fixture.renamed, Fixture.other))
        try await none.expect("withdraw revocation", then: .done)
        try await none.expect("save", then: .failed(Fixture.conflict))
        try await none.expect("renew lease", then: .failed(AccountError(.busy, "")))
        for (run, code) in [(last, "conflict"), (none, "busy")] {
            var run = run
            guard case .keepUnsaved(let kept, _, Fixture.other) = run.action else {
                Issue.record("\(run.actions)")
                return
            }
            #expect(kept.credentials.accessToken == Secret("access-2") && kept.profile.nickname == "Ally")
            await run.answer(.done)
            #expect(run.outcome?.text == "unsaved access-2: \(code)")
        }
    }

    @Test func `An explicit rejection about a revision that was replaced meanwhile clears nothing`() async throws {
        for (content, text) in [
            (AccountArchive.Content.present(Fixture.replaced, Fixture.other), "adopted other-access"),
            (.present(Fixture.bob, Fixture.other), "adopted bob-access"),
            (.present(Fixture.renamed, Fixture.other), "kept access-1: replacedMeanwhile"),
            (.absent(Fixture.ended), "signed out: signedOutByUser"),
            (.unreadable(AccountError(.damaged, "")), "unreadable: damaged"),
        ] {
            var run = try await refused(.oauthError(.invalidGrant))
            try await run.expect("clear", then: .failed(Fixture.conflict))
            try await run.expect("load", then: .content(content))
            #expect(run.outcome?.text == text)
        }
    }

    @Test func `An explicit rejection about tokens that were replaced meanwhile adopts the stored ones`() async throws {
        for failure in [AuthorityError.oauthError(.invalidGrant), .rejected("closed")] {
            for (content, text) in [
                (AccountArchive.Content.present(Fixture.replaced, Fixture.other), "adopted other-access"),
                (.present(Fixture.bob, Fixture.other), "adopted bob-access"),
                (.absent(Fixture.ended), "signed out: signedOutByUser"),
                (.unreadable(AccountError(.damaged, "")), "unreadable: damaged"),
            ] {
                let run = try await refused(failure, stored: content)
                #expect(run.outcome?.text == text)
            }
        }
    }
}
