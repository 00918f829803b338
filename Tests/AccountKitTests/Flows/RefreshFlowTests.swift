@testable import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The cases of a refresh that ``RefreshFlowSearchTests`` does not reach: repeated connections, and the record of an
/// earlier refresh.
struct RefreshFlowTests {
    private typealias Run = FlowRun<RefreshOutcome>

    /// A refresh of Alice's tokens, up to the request.
    private func asking(unfinished: Date? = nil, supportsPerGrantRevocation: Bool = false) async throws -> Run {
        var run = await Run {
            await RefreshFlow(
                $0, $0, of: Fixture.alice, now: Fixture.now, supportsPerGrantRevocation: supportsPerGrantRevocation
            ).run()
        }
        try await run.connect()
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        try await run.expect("withdraw revocation", then: .done)
        try await run.expect("prepare save", then: .done)
        try await run.expect("record intent", then: .intentRecorded(unfinished: unfinished))
        try await run.expect("end", then: .done)
        try #require(run.action.name == "request tokens")
        return run
    }

    /// A refresh that was refused and has read the archive.
    private func refused(_ failure: AuthorityError, unfinished: Date) async throws -> Run {
        var run = try await asking(unfinished: unfinished)
        try await run.expect("request tokens", then: .refused(failure))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        return run
    }

    @Test func `Reconnects if another process has replaced the refresh token`() async throws {
        var run = await Run { await RefreshFlow($0, $0, of: Fixture.alice, now: Fixture.now).run() }
        try await run.connect()
        for number in 2...3 {
            let rotated = Fixture.alice.with(token: "access-1", refreshToken: "refresh-\(number)")
            try await run.expect("begin", then: .done)
            try await run.expect("load", then: .content(.present(rotated, Fixture.other)))
            try await run.expect("end", then: .done)
            guard case .prepareExchange(rotated, nil) = run.action else {
                Issue.record("\(run.actions)")
                return
            }
            await run.answer(.done)
        }
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        #expect(run.outcome?.text == "kept access-1: replacedMeanwhile")
    }

    @Test func `Adopts the same access token if the service issued it again`() {
        var again = Fixture.alice.with(token: "access-1", refreshToken: "refresh-2")
        let grant = RefreshGrant.renewing(Fixture.alice)
        #expect(grant.isNeeded(for: again, inPlaceOf: Fixture.alice, at: Fixture.now))
        again.credentials.issuedAt.addTimeInterval(1)
        #expect(!grant.isNeeded(for: again, inPlaceOf: Fixture.alice, at: Fixture.now))
    }

    @Test func `Changes nothing after a cancelled or postponed connection`() async throws {
        for (event, text) in [
            (EffectResult.refused(.noResponse(.cancelled)), "cancelled"),
            (.postponed(.init(.serverError)), "serverError"),
        ] {
            var run = await Run { await RefreshFlow($0, $0, of: Fixture.alice, now: Fixture.now).run() }
            try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
            try await run.expect("prepare exchange", then: event)
            #expect(run.outcome?.text == "kept access-1: \(text)")
        }
    }

    @Test func `Mentions an unfinished refresh in the sign-out record`() async throws {
        let earlier = Fixture.now.addingTimeInterval(-60)
        let run = try await refused(.oauthError("invalid_grant"), unfinished: earlier)
        guard case .clear(let signOut, _) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(signOut.unfinishedRefresh == earlier)
    }

    @Test func `Keeps an earlier refresh record after a failure that spends no token`() async throws {
        var run = try await refused(.noResponse(.refused), unfinished: Fixture.now)
        guard case .recordFailure(_, mayBeSpent: true) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        await run.answer(.done)
        #expect(run.outcome?.text == "kept access-1: offline")
        #expect(!run.actions.contains("forget refresh record"))
    }

    @Test func `Stores a response with a token of the wrong type, and then pauses`() async throws {
        var run = try await asking()
        var response = Fixture.newTokens
        response.isOfUnsupportedType = true
        await run.answer(.renewed(response))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        try await run.expect("withdraw revocation", then: .done)
        guard case .save(let account, Fixture.old) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(account.credentials.refreshToken == response.refreshToken && account.credentials.isWithheld)
        try await run.expect("save", then: .saved(account))
        guard case .recordFailure(let reason, mayBeSpent: false) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(reason.code == .unclearReply)
        await run.answer(.done)
        #expect(run.outcome?.text == "kept access-2: unclearReply")
    }

    /// A response to a refresh that must be stored, although no program may use its access token.
    enum Flaw: CaseIterable { case otherUser, noAccessToken }

    @Test(arguments: Flaw.allCases)
    func `Stores the next refresh token before it judges the response`(flaw: Flaw) async throws {
        var run = try await asking()
        var response = Fixture.newTokens
        switch flaw {
        case .otherUser: response.isOfOtherUser = true
        case .noAccessToken:
            response = Fixture.alice.credentials
            response.refreshToken = Fixture.newTokens.refreshToken
            response.lacksAccessToken = true
        }
        await run.answer(.renewed(response))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        try await run.expect("withdraw revocation", then: .done)
        guard case .save(let account, Fixture.old) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(account.credentials.refreshToken == Fixture.newTokens.refreshToken)
        #expect(account.credentials.accessToken == response.accessToken && !account.credentials.lacksAccessToken)
        #expect(account.credentials.isWithheld == (flaw == .otherUser))
        #expect(account.verifiedAt == Fixture.alice.verifiedAt)
        try await run.expect("save", then: .saved(account))
        guard case .recordFailure(let reason, mayBeSpent: false) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(reason.code == (flaw == .otherUser ? .wrongAccount : .unclearReply))
        await run.answer(.done)
        #expect(run.outcome?.text == "kept \(response.accessToken.reveal()): \(reason.code)")
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
}

extension FlowRun<RefreshOutcome> {
    /// Reads the archive and connects to the service.
    mutating func connect(_ stored: Account = Fixture.alice) async throws {
        try await expect("load", then: .content(.present(stored, Fixture.old)))
        try await expect("prepare exchange", then: .done)
    }
}
