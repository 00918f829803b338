@testable import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The start-up check. The exhaustive search at the end asserts what holds after every sequence of results; the other
/// tests have one case each that the search does not reach.
struct CheckFlowTests {
    private typealias Run = FlowRun<SessionState>

    private static let never = SignOut.neverSignedIn
    private static let identity = Identity(id: Fixture.alice.id, username: "alice2", profile: ["locale": "en"])

    private func begin(with account: Account, maximumAge: TimeInterval = 0) async throws -> Run {
        var run = await Run { await CheckFlow(vault: $0, service: $0, now: Fixture.now, maximumAge: maximumAge).run() }
        try await run.expect("load", then: .content(.present(account, Fixture.old)))
        return run
    }

    // MARK: Whether to ask the service

    @Test(
        arguments: [
            // The age of the last check, the maximum age, and whether the service is asked.
            (0, 900, false), (899, 900, false), (900, 900, true), (86400, 900, true), (0, 0, true), (nil, 900, true),
            // The clock was set back, so the last check is in the future.
            (-1, 900, true), (-86400, 900, true),
        ] as [(TimeInterval?, TimeInterval, Bool)])
    func `Reuses a recent check unless its date is in the future`(
        age: TimeInterval?, maximumAge: TimeInterval, asks: Bool
    ) async throws {
        var account = Fixture.alice
        account.verifiedAt = age.map { Fixture.now.addingTimeInterval(-$0) }
        let run = try await begin(with: account, maximumAge: maximumAge)
        #expect(run.action.name == (asks ? "verify" : "finish"))
        if !asks { #expect(run.outcome?.text == "verified access-1") }
    }

    @Test(
        arguments: [
            // Seconds until the token expires, whether there is a refresh token, and the step taken.
            (3600, true, "verify"), (1, true, "verify"), (0, true, "refresh"), (-1, true, "refresh"),
            (-1_000_000_000, true, "refresh"), (nil, true, "verify"), (-1, false, "verify"),
            (-1_000_000_000, false, "verify"),
        ] as [(TimeInterval?, Bool, String)])
    func `Refreshes an expired token before a check`(
        seconds: TimeInterval?, hasRefreshToken: Bool, step: String
    ) async throws {
        let account = Account.testing(
            at: Fixture.now, expiringIn: seconds.map { .seconds($0) }, hasRefreshToken: hasRefreshToken)
        #expect(try await begin(with: account).action.name == step)
    }

    // MARK: Verified

    @Test func `Stores the profile that the service returns for a check`() async throws {
        var run = try await begin(with: Fixture.alice)
        try await run.expect("verify", then: .verified(Self.identity))
        try await run.expect("begin soon", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.renamed, Fixture.other)))
        guard case .save(let account, let revision) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(revision == Fixture.other)
        #expect(account.username == "alice2")
        #expect(account.profile["locale"] == "en")
        #expect(account.profile.nickname == "Ally", "another process's profile change is kept")
        #expect(account.verifiedAt == Fixture.now)
        await run.answer(.saved(account))
        #expect(run.outcome == .verified(account))
    }

    @Test(arguments: Fixture.failures)
    func `Verifies an account even if the result cannot be saved`(error: AccountError) async throws {
        for failing in ["begin soon", "save"] {
            var run = try await begin(with: Fixture.alice)
            await run.answer(.verified(Self.identity))
            if failing == "save" {
                try await run.expect("begin soon", then: .done)
                try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
            }
            try await run.expect(failing, then: .failed(error))
            #expect(run.outcome?.text == "verified access-1")
            #expect(run.outcome?.account?.verifiedAt == Fixture.now)
        }
    }

    @Test
    func `Verifies the new tokens if the tokens were replaced during the check`()
        async throws
    {
        for stored in [Fixture.replaced, Fixture.bob] {
            var run = try await begin(with: Fixture.alice)
            try await run.expect("verify", then: .verified(Self.identity))
            try await run.expect("begin soon", then: .done)
            try await run.expect("load", then: .content(.present(stored, Fixture.other)))
            // The service may be slow, so the flow releases the lock first.
            try await run.expect("end", then: .done)
            guard case .verify(let asked) = run.action else {
                Issue.record("\(run.actions)")
                return
            }
            #expect(asked == stored)
            await run.answer(.verified(Identity(id: stored.id)))
            try await run.expect("begin soon", then: .done)
            try await run.expect("load", then: .content(.present(stored, Fixture.other)))
            try await run.expect("save", then: .saved(stored))
            #expect(run.outcome?.text == "verified \(stored.credentials.accessToken.reveal())")
        }
    }

    @Test func `Skips the check of verified new tokens, and refreshes expired tokens`() async throws {
        var confirmed = Fixture.replaced
        confirmed.verifiedAt = Fixture.now
        let expired = Fixture.expired.with(token: "other-access", refreshToken: "other-refresh")
        for (stored, action) in [(confirmed, "finish"), (expired, "refresh")] {
            var run = try await begin(with: Fixture.alice, maximumAge: 900)
            try await run.expect("verify", then: .verified(Self.identity))
            try await run.expect("begin soon", then: .done)
            try await run.expect("load", then: .content(.present(stored, Fixture.other)))
            if action == "refresh" { try await run.expect("end", then: .done) }
            #expect(run.action.name == action)
            if action == "finish" { #expect(run.outcome?.text == "verified other-access") }
        }
    }

    @Test func `Verifies accounts only with their own service`() async throws {
        for signsInMeanwhile in [false, true] {
            var run = await Run {
                await CheckFlow(vault: $0, service: $0, now: Fixture.now, maximumAge: 0) {
                    signsInMeanwhile && $0.id == Fixture.alice.id ? nil : "another service"
                }.run()
            }
            try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
            if signsInMeanwhile {
                try await run.expect("verify", then: .verified(Self.identity))
                try await run.expect("begin soon", then: .done)
                try await run.expect("load", then: .content(.present(Fixture.bob, Fixture.other)))
            }
            #expect(run.outcome?.text == "unverified \(signsInMeanwhile ? "bob-access" : "access-1"): misconfigured")
        }
    }

    @Test func `Does not verify another service's account that a refresh finds`() async throws {
        var run = await Run {
            await CheckFlow(vault: $0, service: $0, now: Fixture.now, maximumAge: 0) {
                $0.id == Fixture.alice.id ? nil : "another service"
            }.run()
        }
        try await run.expect("load", then: .content(.present(Fixture.expired, Fixture.old)))
        try await run.expect("refresh", then: .refreshEnded(.adopted(Fixture.bob)))
        #expect(run.outcome?.text == "unverified bob-access: misconfigured")
    }

    // MARK: Refused

    @Test func `Refreshes once and checks once more after a 401`() async throws {
        var run = try await begin(with: Fixture.alice)
        try await run.expect("verify", then: .refused(.unauthorized(error: "invalid_token")))
        let renewed = Fixture.alice.with(token: "access-2", refreshToken: "refresh-2")
        try await run.expect("refresh", then: .refreshEnded(.renewed(renewed)))
        try await run.expect("verify", then: .refused(.unauthorized(error: "invalid_token")))
        #expect(run.outcome?.text == "unverified access-2: unclearReply")
    }

    @Test(arguments: [
        (RefreshOutcome.renewed(Fixture.alice), "verified access-1"),
        (.kept(Fixture.expired, .init(.serverError)), "unverified access-1: serverError"),
        (.kept(Fixture.expired, .refusal), "unverified access-1: renewalRefused"),
        (.unsaved(Fixture.alice, AccountError(.inaccessible, "")), "unverified access-1: notSaved"),
        (.signedOut(SignOut(.sessionEnded)), "signed out: sessionEnded"),
        (.unreadable(AccountError(.damaged, "")), "unreadable: damaged"),
    ])
    func `Ends a check after a failed or completed refresh`(outcome: RefreshOutcome, text: String) async throws {
        var run = try await begin(with: Fixture.expired)
        try await run.expect("refresh", then: .refreshEnded(outcome))
        #expect(run.outcome?.text == text)
    }

    @Test func `Clears the account if the service rejects the token that is stored`() async throws {
        var run = try await begin(with: Fixture.withoutRefreshToken)
        try await run.expect("verify", then: .refused(.unauthorized(error: "invalid_token")))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.withoutRefreshToken, Fixture.other)))
        guard case .clear(let signOut, Fixture.other) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(signOut.reason == .sessionEnded)
        #expect(signOut.detail == "invalid_token")
        await run.answer(.done)
        #expect(run.outcome == .signedOut(signOut))
    }

    @Test(arguments: Fixture.failures)
    func `Keeps a rejected account if clearing the archive fails`(error: AccountError) async throws {
        for failing in ["begin", "clear"] {
            var run = try await begin(with: Fixture.withoutRefreshToken)
            await run.answer(.refused(.rejected("closed")))
            if failing == "clear" {
                try await run.expect("begin", then: .done)
                try await run.expect("load", then: .content(.present(Fixture.withoutRefreshToken, Fixture.old)))
            }
            try await run.expect(failing, then: .failed(error))
            let code = [.busy, .conflict].contains(error.code) ? "busy" : "cannotSave"
            #expect(run.outcome?.text == "unverified access-1: \(code)")
        }
    }

    // MARK: Exhaustive search

    @Test(arguments: [Fixture.alice, Fixture.expired, Fixture.withoutRefreshToken])
    func `Never signs the user out by mistake in any sequence of check results`(account: Account) async {
        let contents: [Vault.Content] = [
            .present(account, Fixture.old), .present(Fixture.replaced, Fixture.other),
            .present(Fixture.bob, Fixture.other), .absent(Self.never),
            .unreadable(AccountError(.damaged, "")),
        ]
        let failures: [EffectResult] = [
            .failed(AccountError(.inaccessible, "")), .failed(AccountError(.conflict, "")),
        ]
        let refreshes: [RefreshOutcome] = [
            .renewed(account.with(token: "access-2", refreshToken: "refresh-2")), .adopted(Fixture.replaced),
            .adopted(Fixture.bob), .kept(account, .init(.offline)), .kept(account, .refusal),
            .unsaved(account, AccountError(.inaccessible, "")),
            .signedOut(Self.never), .unreadable(AccountError(.damaged, "")),
        ]
        let endCount = await Run.explore({
            await CheckFlow(vault: $0, service: $0, now: Fixture.now, maximumAge: 0).run()
        }) { run in
            switch run.action {
            case .load: contents.map { .content($0) }
            // The first turn has tried every failure, and later turns start from the same state.
            case .verify where run.actions.contains("end"):
                [.verified(Self.identity), .refused(.noResponse(.timeout)), .refused(.rejected("closed"))]
            case .verify:
                [.verified(Self.identity), .verified(Identity(id: "eve"))]
                    + Fixture.authorityErrors.map { .refused($0) }
            case .refresh: refreshes.map { .refreshEnded($0) }
            case .save(let account, _): failures + [.saved(account)]
            case .endTransaction: [.done]
            default: failures + [.done]
            }
        } visit: { run, events in
            let actions = run.actions
            let isLocked = run.isInTransaction(after: events)
            switch run.action {
            case .save, .clear:
                let begin = run.action.name == "save" ? "begin soon" : "begin"
                #expect(actions.suffix(3).dropLast() == [begin, "load"], "\(actions)")
                #expect(isLocked, "\(actions)")
            case .verify, .refresh: #expect(!isLocked, "other processes wait for the service: \(actions)")
            case .beginTransaction, .beginTransactionSoon: #expect(!isLocked, "\(actions)")
            default: break
            }
            // The flow sends one check for the account, and at most two more for the accounts that replace it.
            let turns = 1 + actions.count { $0 == "end" }
            #expect(turns <= 3, "\(actions)")
            #expect(actions.count { $0 == "refresh" } <= turns, "\(actions)")
            #expect(actions.count { $0 == "verify" } <= 2 * turns, "\(actions)")
            if run.action.name == "finish", case .unverified(let kept, let reason)? = run.outcome, reason.refusesRenewal
            {
                // A check refreshes only if the caller has no valid token.
                #expect(reason.code == .renewalRefused && kept.isSameGrant(as: account), "\(actions)")
            }
            if run.action.name == "clear" {
                // Unless the authority is certain, the flow tries the refresh token first.
                let isCertain = events.contains { if case .refused(.rejected) = $0 { true } else { false } }
                let stored = events.compactMap { if case .content(let content) = $0 { content.account } else { nil } }
                #expect(isCertain || stored.last?.credentials.refreshToken == nil, "\(actions)")
                // The removed account is the one that the service rejected.
                let asked = run.calls.compactMap { if case .verify(let account) = $0 { account } else { nil } }
                #expect(asked.last.map { stored.last?.isSameGrant(as: $0) } == true, "\(actions)")
            }
            // A read without an account ends the check.
            if let state = run.outcome, case .content(let content)? = events.last {
                switch content {
                case .absent(let signOut): #expect(state == .signedOut(signOut), "\(actions)")
                case .unreadable(let error): #expect(state == .unreadable(error), "\(actions)")
                case .present: break
                }
            }
            switch run.outcome {
            case .signedOut(let signOut): #expect(signOut == Self.never || actions.contains("clear"), "\(actions)")
            case .verified(let account):
                // Either the service has just verified the account, or it has just issued the tokens.
                let isKnown = events.contains { event in
                    switch event {
                    case .verified(let identity): identity.id == account.id
                    case .refreshEnded(.renewed): true
                    default: false
                    }
                }
                #expect(isKnown, "\(actions)")
            case .unverified, .unreadable, nil: break
            }
        }
        #expect(endCount > 50)
    }
}
