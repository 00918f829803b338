@testable import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Changes between the request and its response.
extension RefreshFlowTests {
    @Test func `Revokes the new tokens if the user signed out during the exchange`() async throws {
        var runs = [try await comparing(to: .absent(Fixture.ended))]
        // The result is the same if the lock was lost.
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
                // The service may be slow, so the flow releases the lock first.
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
            // The stored account, whether a revocation ends only its own grant, and whether the new tokens are revoked.
            (Fixture.bob, false, true), (Fixture.bob, true, true), (Fixture.replaced, true, true),
            (Fixture.replaced, false, false),
        ])
    func `Revokes the new tokens after another sign-in if the service allows it`(
        stored: Account, supportsPerGrantRevocation: Bool, isRevoked: Bool
    ) async throws {
        let content = ArchiveReader.Content.present(stored, Fixture.other)
        var superseded = try await comparing(
            to: .present(Fixture.alice, Fixture.old), supportsPerGrantRevocation: supportsPerGrantRevocation)
        try await superseded.expect("withdraw revocation", then: .done)
        try await superseded.lose(then: content)
        // After the lock was lost, the lease may be lost too, so the stored tokens may belong to the same sign-in.
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

    @Test func `Revokes no token that shares a refresh token with the stored account`() async throws {
        // The response has no refresh token, so the new access token shares the stored one.
        let stored = Fixture.alice.with(token: "another", refreshToken: "refresh-1")
        var run = try await asking(supportsPerGrantRevocation: true)
        await run.answer(.renewed(Credentials(accessToken: Secret("access-2"), issuedAt: Fixture.now)))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(stored, Fixture.other)))
        #expect(run.outcome?.text == "adopted another")
    }

    @Test func `Keeps new tokens in memory if the archive became unreadable`() async throws {
        var run = try await comparing(to: .unreadable(AccountError(.damaged, "")))
        await expectRemembered(&run)
        #expect(run.outcome?.text == "unreadable: damaged")
    }

    /// Expects that the new tokens are kept in memory in place of the spent ones.
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
    func `Keeps new tokens in memory if the lock is unavailable`(error: AccountError) async throws {
        var run = try await asking()
        try await run.expect("request tokens", then: .renewed(Fixture.newTokens))
        try await run.expect("begin", then: .failed(error))
        await expectRemembered(&run)
        #expect(run.outcome?.text == "unsaved access-2: \(error.code)")
    }

    @Test func `Saves new tokens together with a change of the profile`() async throws {
        var run = try await comparing(to: .present(Fixture.renamed, Fixture.other))
        try await run.expect("withdraw revocation", then: .done)
        guard case .save(let account, Fixture.other) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(account.credentials.accessToken == Secret("access-2"))
        #expect(account.profile.nickname == "Ally")
    }

    @Test func `Removes the revocation of an interrupted sign-out before saving`() async throws {
        for event in [EffectResult.done, .failed(Fixture.diskFull), .failed(Fixture.conflict)] {
            var run = try await comparing(to: .present(Fixture.alice, Fixture.old))
            guard case .withdrawRevocation(let account) = run.action else {
                Issue.record("\(run.actions)")
                return
            }
            #expect(account.credentials.hasSameTokens(as: Fixture.alice.credentials), "the spent tokens")
            await run.answer(event)
            #expect(run.action.name == "save", "saving comes first")
        }
    }

    @Test func `Reacquires a lost lock and saves the new tokens with later changes`()
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

    /// A flow that has lost the lock and has read the archive again.
    private func renewing(then content: ArchiveReader.Content, supportsPerGrantRevocation: Bool = true) async throws
        -> Run
    {
        var run = try await comparing(
            to: .present(Fixture.alice, Fixture.old), supportsPerGrantRevocation: supportsPerGrantRevocation)
        try await run.expect("withdraw revocation", then: .done)
        try await run.lose(then: content)
        return run
    }

    @Test func `Revokes no tokens of the stored user after a lost lease`() async throws {
        // Some services accept a spent token for a while and issue new tokens to each caller.
        let run = try await renewing(then: .present(Fixture.replaced, Fixture.other))
        #expect(run.outcome?.text == "adopted other-access")
        for content in [ArchiveReader.Content.present(Fixture.bob, Fixture.other), .absent(Fixture.ended)] {
            let run = try await renewing(then: content)
            #expect(run.action.name == "queue revocation", "live tokens are dropped: \(run.actions)")
        }
    }

    @Test func `Queues the revocation of unwanted tokens under a new lease`() async throws {
        var run = try await comparing(to: .absent(Fixture.ended))
        try await run.expect("queue revocation", then: .failed(Fixture.conflict))
        var alone = run
        try await run.expect("renew lease", then: .done)
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.absent(Fixture.ended)))
        try await run.expect("queue revocation", then: .queued(Fixture.pending))
        try await run.expect("end", then: .done)
        // Without a lease, the flow still asks the service to revoke them.
        try await alone.expect("renew lease", then: .failed(Fixture.diskFull))
        for var run in [run, alone] {
            try await run.expect("revoke", then: .done)
            #expect(run.outcome?.text == "signed out: signedOutByUser")
        }
    }

    @Test func `Keeps new tokens in memory without a lease or after three conflicts`() async throws {
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

    @Test func `Keeps the account after a rejection if the archive was replaced`() async throws {
        for (content, text) in [
            (ArchiveReader.Content.present(Fixture.replaced, Fixture.other), "adopted other-access"),
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

    @Test func `Adopts the stored tokens after a rejection of replaced tokens`() async throws {
        for failure in [AuthorityError.oauthError(.invalidGrant), .rejected("closed")] {
            for (content, text) in [
                (ArchiveReader.Content.present(Fixture.replaced, Fixture.other), "adopted other-access"),
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
