import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

/// Tokens for other APIs, at the level of the flow. The exhaustive search at the end asserts which tokens are sent, saved
/// and revoked after every sequence of results; the other tests have one case each that the search does not reach.
struct DerivationFlowTests {
    private typealias Run = FlowRun<RefreshOutcome>

    private static let target = TokenTarget(stored: nil, ["https://api.example.com/"], ["read"])
    private static let byRefresh = Derivation(target: target, means: .refresh, validity: nil)
    private static let byExchange = Derivation(target: target, means: .tokenExchange, validity: nil)

    private static func response(
        _ token: String = "derived-1", refreshToken: String? = nil, lifetime: TimeInterval = 3600
    ) -> Credentials {
        Credentials(
            accessToken: Secret(token), refreshToken: refreshToken.map { Secret($0) }, idToken: Secret("id-2"),
            scopes: ["read"], issuedAt: Fixture.now, expiresAt: Fixture.now.addingTimeInterval(lifetime))
    }

    private static func holding(
        _ token: String, in account: Account = Fixture.alice, lifetime: TimeInterval = 3600
    ) -> Account {
        var account = account
        account.credentials.keep(response(token, lifetime: lifetime), for: target, at: Fixture.now)
        return account
    }

    private func asking(
        _ derivation: Derivation, of account: Account = Fixture.alice, stored: Account? = nil, unfinished: Date? = nil
    ) async throws -> Run {
        var run = await Run { await RefreshFlow($0, $0, of: account, by: .derived(derivation), now: Fixture.now).run() }
        try await run.connect(stored ?? account)
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(stored ?? account, Fixture.old)))
        try await run.expect("withdraw revocation", then: .done)
        try await run.expect("prepare save", then: .done)
        try await run.expect(
            derivation.means == .refresh ? "record intent" : "begin exchange",
            then: .intentRecorded(unfinished: unfinished))
        try await run.expect("end", then: .done)
        try #require(run.action.name == "derive token")
        return run
    }

    private func saving(
        _ response: Credentials, _ derivation: Derivation, stored: Account = Fixture.alice
    ) async throws -> (Run, Account) {
        var run = try await asking(derivation, of: stored)
        await run.answer(.renewed(response))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(stored, Fixture.old)))
        try await run.expect("withdraw revocation", then: .done)
        guard case .save(let account, Fixture.old) = run.action else { throw AccountError(.conflict, "\(run.actions)") }
        return (run, account)
    }

    // MARK: The response

    @Test func `Stores a new refresh token together with the derived token`() async throws {
        var (run, account) = try await saving(Self.response(refreshToken: "refresh-2"), Self.byRefresh)
        #expect(account.credentials.accessToken == Fixture.alice.credentials.accessToken)
        #expect(account.credentials.expiresAt == Fixture.alice.credentials.expiresAt)
        #expect(account.credentials.idToken == Fixture.alice.credentials.idToken)
        #expect(account.credentials.refreshToken == Secret("refresh-2"))
        #expect(account.verifiedAt == Fixture.alice.verifiedAt)
        let derived = try #require(account.credentials.derivedToken(for: Self.target))
        #expect(derived.credentials.accessToken == Secret("derived-1"))
        #expect(derived.credentials.refreshToken == nil && derived.credentials.idToken == nil)
        try await run.expect("save", then: .saved(account))
        try await run.expect("forget refresh record", then: .done)
        #expect(run.outcome?.text == "renewed access-1")
    }

    @Test func `Keeps the old refresh token if the derivation returns none`() async throws {
        let (_, account) = try await saving(Self.response(), Self.byRefresh)
        #expect(account.credentials.refreshToken == Fixture.alice.credentials.refreshToken)
    }

    @Test func `Requires a refresh token for a derivation unless by exchange`() async throws {
        _ = try await asking(Self.byExchange, of: Fixture.withoutRefreshToken)
        var run = await Run {
            await RefreshFlow($0, $0, of: Fixture.withoutRefreshToken, by: .derived(Self.byRefresh), now: Fixture.now)
                .run()
        }
        try await run.expect("load", then: .content(.present(Fixture.withoutRefreshToken, Fixture.old)))
        #expect(run.outcome?.text == "kept access-1: notChecked")
    }

    // MARK: Changes by other processes

    @Test func `Returns a derived token that another process has just stored`() async throws {
        for (known, found) in [
            (Fixture.alice, Self.holding("other")), (Self.holding("old", lifetime: 30), Self.holding("other")),
            // Use the token even if it is valid for less time than requested: a new one would not last longer.
            (Self.holding("old", lifetime: 30), Self.holding("other", lifetime: 30)),
            // The stored token is already valid.
            (Self.holding("same"), Self.holding("same")),
        ] {
            var run = await Run {
                await RefreshFlow($0, $0, of: known, by: .derived(Self.byRefresh), now: Fixture.now).run()
            }
            try await run.expect("load", then: .content(.present(found, Fixture.other)))
            guard case .adopted(found)? = run.outcome else {
                Issue.record("\(run.actions)")
                continue
            }
        }
    }

    @Test func `Derives a token from tokens that another process has stored`() async throws {
        let run = try await asking(Self.byRefresh, stored: Fixture.replaced)
        guard case .exchangeToken(let sent, Self.byRefresh) = run.action else { return }
        #expect(sent == Fixture.replaced)
        // A stored token that expires too soon does not prevent the request.
        let longer = Derivation(target: Self.target, means: .refresh, validity: .seconds(60))
        #expect(try await asking(longer, of: Self.holding("old", lifetime: 30)).outcome == nil)
    }

    @Test func `Ignores a rejection of a refresh token that was replaced`() async throws {
        let rotated = Fixture.alice.with(token: "access-1", refreshToken: "refresh-2")
        for (stored, text) in [
            (rotated, "kept access-1: replacedMeanwhile"), (Fixture.replaced, "adopted other-access"),
        ] {
            var run = await Run { await RefreshFlow($0, $0, of: Fixture.alice, now: Fixture.now).run() }
            while run.outcome == nil {
                switch run.action.name {
                case "load" where !run.actions.contains("request tokens"):
                    await run.answer(.content(.present(Fixture.alice, Fixture.old)))
                case "load": await run.answer(.content(.present(stored, Fixture.other)))
                case "record intent": await run.answer(.intentRecorded(unfinished: nil))
                case "request tokens": await run.answer(.refused(.oauthError("invalid_grant")))
                default: await run.answer(.done)
                }
            }
            #expect(run.outcome?.text == text)
            #expect(!run.actions.contains("clear"))
        }
    }

    // MARK: Refused

    @Test(
        arguments: [
            .oauthError("invalid_target"), .oauthError("invalid_scope"), .oauthError("unauthorized_client"),
            .oauthError("invalid_request"), .oauthError("unsupported_grant_type"), .misconfigured("not registered"),
        ] as [AuthorityError])
    func `Keeps the session after an invalid request, without a refresh delay`(failure: AuthorityError) async throws {
        var run = try await asking(Self.byRefresh)
        await run.answer(.refused(failure))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        try await run.expect("forget refresh record", then: .done)
        #expect(run.outcome?.text == "kept access-1: misconfigured")

        // An earlier refresh may have spent the token.
        run = try await asking(Self.byRefresh, unfinished: Fixture.now)
        await run.answer(.refused(failure))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        #expect(run.outcome?.text == "kept access-1: misconfigured")

        run = try await asking(Self.byExchange)
        await run.answer(.refused(failure))
        #expect(run.outcome?.text == "kept access-1: misconfigured")
    }

    /// A derivation that the service refused, and the following plain refresh up to its request.
    private func refreshing(
        after failure: AuthorityError, unfinished: Date? = nil, stored: Account = Fixture.alice
    ) async throws -> Run {
        var run = try await asking(Self.byRefresh, unfinished: unfinished)
        await run.answer(.refused(failure))
        guard case .prepareExchange(Fixture.alice, nil) = run.action else {
            throw AccountError(.conflict, "\(run.actions)")
        }
        await run.answer(.done)
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(stored, Fixture.old)))
        guard stored.isSameGrant(as: Fixture.alice) else { return run }
        try await run.expect("withdraw revocation", then: .done)
        try await run.expect("prepare save", then: .done)
        // The record holds the intent of the refused request.
        try await run.expect("record intent", then: .intentRecorded(unfinished: Fixture.now))
        try await run.expect("end", then: .done)
        try #require(run.action.name == "request tokens")
        return run
    }

    private static let refusals = [AuthorityError.oauthError("invalid_grant"), .rejected("closed")]

    @Test(arguments: refusals)
    func `Ends a session for a refused derivation only if a refresh is refused`(failure: AuthorityError)
        async throws
    {
        var run = try await refreshing(after: failure)
        await run.answer(.renewed(Fixture.newTokens))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        try await run.expect("withdraw revocation", then: .done)
        guard case .save(let account, Fixture.old) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(account.credentials.hasSameTokens(as: Fixture.newTokens))
        await run.answer(.saved(account))
        try await run.expect("forget refresh record", then: .done)
        #expect(run.outcome?.text == "kept access-2: misconfigured")

        run = try await refreshing(after: failure)
        await run.answer(.refused(failure))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        guard case .clear(let signOut, Fixture.old) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(signOut.unfinishedRefresh == nil)
    }

    @Test func `Keeps the session if a plain refresh after a refusal gets no response`() async throws {
        for (failure, unfinished, mayBeSpent) in [
            (AuthorityError.noResponse(.timeout), nil, true), (.noResponse(.refused), nil, false),
            (.noResponse(.refused), Fixture.now, true),
        ] as [(AuthorityError, Date?, Bool)] {
            var run = try await refreshing(after: Self.refusals[0], unfinished: unfinished)
            await run.answer(.refused(failure))
            try await run.expect("begin", then: .done)
            try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
            guard case .recordFailure(_, mayBeSpent) = run.action else {
                Issue.record("\(run.actions)")
                continue
            }
            await run.answer(.done)
            #expect(run.outcome?.text == "kept access-1: offline")
        }
    }

    @Test func `Adopts another process's tokens after a refused derivation`() async throws {
        await #expect(
            try refreshing(after: Self.refusals[0], stored: Fixture.replaced).outcome?.text
                == "kept other-access: misconfigured")
        let found = Self.holding("other", in: Fixture.replaced)
        #expect(try await refreshing(after: Self.refusals[0], stored: found).outcome?.text == "adopted other-access")
        #expect(
            try await refreshing(after: Self.refusals[0], stored: Fixture.bob).outcome?.text == "adopted bob-access")
    }

    @Test(arguments: [byRefresh, byExchange])
    func `Delays the next derivation after a failure of the service`(derivation: Derivation) async throws {
        var run = try await asking(derivation)
        await run.answer(.refused(.unavailable(status: 503, retryAfter: nil)))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        guard case .recordFailure(_, let mayBeSpent) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(mayBeSpent == (derivation.means == .refresh))
        await run.answer(.done)
        #expect(run.outcome?.text == "kept access-1: serverError")
    }

    // MARK: Failing to save

    @Test func `Drops derived tokens to make room for a new refresh token`() async throws {
        let tooLarge = AccountError(.tooLarge, "full")
        let other = TokenTarget(stored: "other", [], [])
        var stored = Fixture.alice
        stored.credentials.keep(Self.response("kept"), for: other, at: Fixture.now)
        var (run, account) = try await saving(Self.response(refreshToken: "refresh-2"), Self.byRefresh, stored: stored)
        #expect(account.credentials.derivedTokens.count == 2)
        try await run.expect("save", then: .failed(tooLarge))
        guard case .save(let bare, Fixture.old) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(bare.credentials.refreshToken == Secret("refresh-2"))
        #expect(bare.credentials.derivedTokens.isEmpty)

        (run, account) = try await saving(Self.response(), Self.byExchange, stored: stored)
        try await run.expect("save", then: .failed(tooLarge))
        #expect(run.outcome?.text == "unsaved access-1: tooLarge")
    }

    // MARK: Exhaustive search

    @Test(arguments: [byRefresh, byExchange])
    func `Never loses a refresh token in any sequence of derivation results`(
        derivation: Derivation
    ) async {
        let contents: [Vault.Content] = [
            .present(Fixture.alice, Fixture.old), .present(Fixture.renamed, Fixture.other),
            .present(Fixture.replaced, Fixture.other), .present(Fixture.bob, Fixture.other), .absent(Fixture.ended),
            .unreadable(AccountError(.damaged, "")),
        ]
        let refusals = Fixture.authorityErrors + [.oauthError("invalid_target")]
        let failures: [EffectResult] = [.failed(Fixture.diskFull), .failed(Fixture.conflict)]
        let machine: Run.Flow = {
            await RefreshFlow(
                $0, $0, of: Fixture.alice, by: .derived(derivation), now: Fixture.now, supportsPerGrantRevocation: true
            ).run()
        }
        // The first load is without the lock. The plain refresh after a refused derivation adds a second exchange to
        // the path.
        let endCount = await Run.explore(machine, limit: 64) { run in
            switch run.action {
            case .load where run.actions.count == 1: [contents[0], contents[4]].map { .content($0) }
            // Another search tries each content and each failure of plain refreshes.
            case .load where Self.isRefreshing(run):
                [contents[0], contents[2], contents[4]].map { .content($0) }
            case .save(let account, _) where Self.isRefreshing(run): [.failed(Fixture.conflict), .saved(account)]
            case .beginTransaction, .withdrawRevocation, .prepareSave, .clear, .recordFailure,
                .forgetRefreshRecord
            where Self.isRefreshing(run):
                [.failed(Fixture.conflict), .done]
            case .load: contents.map { .content($0) }
            case .prepareExchange:
                [.done, .refused(.notSent(.noResponse(.timeout))), .refused(.notSent(.misconfigured("no")))]
            case .requestTokens:
                [
                    .renewed(Fixture.newTokens), .refused(.oauthError("invalid_grant")),
                    .refused(.noResponse(.timeout)),
                ]
            case .exchangeToken:
                [.renewed(Self.response(refreshToken: "refresh-2"))] + refusals.map { .refused($0) }
            case .save(let account, _): failures + [.saved(account)]
            case .keepUnsaved, .endTransaction, .revoke: [.done]
            case .queueRevocation: failures + [.queued(Fixture.pending)]
            case .recordIntent, .beginExchange:
                failures + [.intentRecorded(unfinished: nil), .postponed(.init(.serverError))]
            default: failures + [.done]
            }
        } visit: { run, events in
            check(run, after: events, derivation)
        }
        #expect(endCount > 500)
    }

    /// Whether a plain refresh followed a refused derivation.
    private static func isRefreshing(_ run: Run) -> Bool {
        guard let derived = run.actions.firstIndex(of: "derive token") else { return false }
        return run.actions[derived...].contains("prepare exchange")
    }

    /// The number of times that the service refused the tokens.
    private static func refusalCount(_ events: [EffectResult]) -> Int {
        events.count { event in
            if case .refused(.oauthError("invalid_grant", _)) = event { return true }
            if case .refused(.rejected) = event { return true }
            return false
        }
    }

    private func check(_ run: Run, after events: [EffectResult], _ derivation: Derivation) {
        let actions = run.actions
        let isLocked = run.isInTransaction(after: events)
        let lastContent = events.compactMap { if case .content(let content) = $0 { content } else { nil } }.last
        let isByRefresh = derivation.means == .refresh
        switch run.action {
        case .exchangeToken(let sent, _):
            #expect(!isLocked && actions.contains("record intent") == isByRefresh, "\(actions)")
            #expect(sent == lastContent?.account && sent.isSameUser(as: Fixture.alice), "\(actions)")
        case .prepareExchange: #expect(!isLocked, "\(actions)")
        case .requestTokens:
            #expect(!isLocked && isByRefresh && Self.refusalCount(events) == 1, "\(actions)")
        case .verify: Issue.record("\(actions)")
        case .revoke(let account, _):
            if isByRefresh { #expect(account.credentials.refreshToken == Secret("refresh-2"), "\(actions)") }
            let derived = account.credentials.derivedTokens.map(\.credentials.accessToken)
            #expect(actions.contains("request tokens") || derived == [Secret("derived-1")], "\(actions)")
        case .clear:
            #expect(isLocked && isByRefresh && Self.refusalCount(events) == 2, "\(actions)")
            #expect(actions.contains("request tokens"), "\(actions)")
        case .save(let account, let revision):
            guard case .present(let stored, revision)? = lastContent else {
                Issue.record("replaced an account that it had not read: \(actions)")
                return
            }
            #expect(isLocked, "\(actions)")
            let isPlain = actions.contains("request tokens")
            let access = isPlain ? Secret("access-2") : stored.credentials.accessToken
            #expect(account.credentials.accessToken == access, "\(actions)")
            #expect(account.profile == stored.profile && account.isSameUser(as: stored), "\(actions)")
            let next = isByRefresh ? Secret("refresh-2") : stored.credentials.refreshToken
            #expect(account.credentials.refreshToken == next, "\(actions)")
        case .finish:
            guard let outcome = run.outcome else { return }
            let hasResponse = events.contains { if case .renewed = $0 { true } else { false } }
            let isSaved = events.contains { if case .saved = $0 { true } else { false } }
            guard hasResponse else {
                #expect(!actions.contains("save") && !actions.contains("revoke"), "\(actions)")
                return
            }
            let isKept = actions.contains("keep unsaved")
            let isRevoked = actions.contains("queue revocation") && actions.contains("revoke")
            // After the lease was renewed, the stored tokens may belong to the same sign-in, which a revocation would
            // end.
            let isSpared =
                actions.contains("renew lease") && lastContent?.account?.isSameUser(as: Fixture.alice) == true
            if isByRefresh {
                let count = [isSaved, isKept, isRevoked].count { $0 }
                #expect(count == 1 || count == 0 && isSpared, "a refresh token is lost: \(actions)")
            } else {
                #expect(!isKept, "\(actions)")
            }
            // This reason is only for tokens that replaced the tokens of the request.
            if case .kept(_, let reason) = outcome {
                let isPlain = actions.contains("request tokens")
                let isReplaced = reason.code == .replacedMeanwhile && (isRevoked || isSpared || !isByRefresh)
                #expect(isPlain && reason.code == .misconfigured || isReplaced, "\(actions)")
            }
        default: break
        }
    }
}
