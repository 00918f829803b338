@testable import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct RefreshFlowTests {
    typealias Run = FlowRun<RefreshOutcome>

    /// A refresh of Alice's tokens, up to the request.
    func asking(
        _ account: Account = Fixture.alice, unfinished: Date? = nil, supportsPerGrantRevocation: Bool = false
    ) async throws -> Run {
        var run = await Run(
            RefreshFlow(of: account, now: Fixture.now, supportsPerGrantRevocation: supportsPerGrantRevocation))
        try await run.connect(account)
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(account, Fixture.old)))
        try await run.expect("withdraw revocation", then: .done)
        try await run.expect("prepare save", then: .done)
        try await run.expect("record intent", then: .intentRecorded(unfinished: unfinished))
        try await run.expect("end", then: .done)
        try #require(run.action.name == "request tokens")
        return run
    }

    /// A refresh that has its response and has read the archive.
    func comparing(
        to content: ArchiveReader.Content, supportsPerGrantRevocation: Bool = false
    ) async throws -> Run {
        var run = try await asking(supportsPerGrantRevocation: supportsPerGrantRevocation)
        try await run.expect("request tokens", then: .renewed(Fixture.newTokens))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(content))
        return run
    }

    /// A refresh that is about to save its response.
    func saving() async throws -> Run {
        var run = try await comparing(to: .present(Fixture.alice, Fixture.old))
        try await run.expect("withdraw revocation", then: .done)
        try #require(run.action.name == "save")
        return run
    }

    /// A refresh that was refused and has read the archive.
    func refused(
        _ failure: AuthorityError, unfinished: Date? = nil,
        stored content: ArchiveReader.Content = .present(Fixture.alice, Fixture.old)
    ) async throws -> Run {
        var run = try await asking(unfinished: unfinished)
        try await run.expect("request tokens", then: .refused(failure))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(content))
        return run
    }

    @Test func `Saves the refresh response before removing the intent`() async throws {
        var run = try await saving()
        guard case .save(let account, let revision) = run.action else { return }
        #expect(revision == Fixture.old)
        #expect(account.credentials == Fixture.newTokens.with(scopes: ["openid"], clientID: "test"))
        #expect(account.verifiedAt == Fixture.now)
        #expect(account.profile == Fixture.alice.profile)
        try await run.expect("save", then: .saved(account))
        try await run.expect("forget refresh record", then: .done)
        #expect(run.outcome?.text == "renewed access-2")
    }

    @Test func `Keeps the old refresh token if a refresh response has none`() async throws {
        var run = try await asking()
        await run.answer(.renewed(Credentials(accessToken: Secret("access-2"), issuedAt: Fixture.now)))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        try await run.expect("withdraw revocation", then: .done)
        guard case .save(let account, _) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(account.credentials.refreshToken == Secret("refresh-1"))
        #expect(account.credentials.scopes == ["openid"])
        #expect(account.credentials.clientID == "test")
        #expect(account.credentials.expiresAt == nil, "the old expiry says nothing about the new token")
    }

    @Test(arguments: Fixture.failures)
    func `Sends no refresh if the response could not be saved`(error: AccountError) async throws {
        for failing in ["begin", "withdraw revocation", "prepare save", "record intent"] {
            var run = await Run(RefreshFlow(of: Fixture.alice, now: Fixture.now))
            while run.outcome == nil {
                switch run.action.name {
                case failing: await run.answer(.failed(error))
                case "load": await run.answer(.content(.present(Fixture.alice, Fixture.old)))
                case "record intent": await run.answer(.intentRecorded(unfinished: nil))
                default: await run.answer(.done)
                }
            }
            #expect(!run.actions.contains("request tokens"), "after \(failing) failed")
            #expect(!run.actions.contains("save"), "after \(failing) failed")
            let code = [.busy, .conflict].contains(error.code) ? "busy" : "cannotSave"
            #expect(run.outcome?.text == "kept access-1: \(code)")
        }
    }

    @Test func `Adopts tokens that another process has stored, without a refresh`() async throws {
        for stored in [Fixture.replaced, Fixture.bob] {
            var run = await Run(RefreshFlow(of: Fixture.alice, now: Fixture.now))
            try await run.connect()
            try await run.expect("begin", then: .done)
            try await run.expect("load", then: .content(.present(stored, Fixture.other)))
            #expect(run.outcome?.text == "adopted \(stored.credentials.accessToken.reveal())")
        }
    }

    @Test func `Sends no refresh without a readable archive`() async throws {
        for (content, text) in [
            (ArchiveReader.Content.absent(Fixture.ended), "signed out: signedOutByUser"),
            (.unreadable(AccountError(.damaged, "")), "unreadable: damaged"),
        ] {
            var run = await Run(RefreshFlow(of: Fixture.alice, now: Fixture.now))
            try await run.connect()
            try await run.expect("begin", then: .done)
            try await run.expect("load", then: .content(content))
            #expect(run.outcome?.text == text)
        }
    }

    @Test func `Sends no refresh without a refresh token`() async throws {
        var run = await Run(RefreshFlow(of: Fixture.withoutRefreshToken, now: Fixture.now))
        try await run.expect("load", then: .content(.present(Fixture.withoutRefreshToken, Fixture.old)))
        #expect(run.outcome?.text == "kept access-1: notChecked")
    }

    // MARK: The connection

    @Test func `Adopts another process's tokens before connecting for a refresh`() async throws {
        for stored in [Fixture.replaced, Fixture.bob] {
            var run = await Run(RefreshFlow(of: Fixture.alice, now: Fixture.now))
            try await run.expect("load", then: .content(.present(stored, Fixture.other)))
            #expect(run.outcome?.text == "adopted \(stored.credentials.accessToken.reveal())")
        }
    }

    @Test func `Reconnects if another process has replaced the refresh token`() async throws {
        var run = await Run(RefreshFlow(of: Fixture.alice, now: Fixture.now))
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

    @Test func `Connects for a refresh if a read under the lock finds an account`() async throws {
        var run = await Run(RefreshFlow(of: Fixture.alice, now: Fixture.now))
        try await run.expect("load", then: .content(.absent(.neverSignedIn)))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        try await run.expect("end", then: .done)
        try await run.expect("prepare exchange", then: .done)
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        #expect(run.action.name == "withdraw revocation")
    }

    @Test(arguments: [
        AuthorityError.noResponse(.refused), .notSent(.unavailable(status: 503, retryAfter: nil)), .misconfigured("no"),
        .oauthError(.invalidGrant), .rejected("closed"),
    ])
    func `Records a failed connection of a refresh and keeps the tokens`(failure: AuthorityError) async throws {
        var run = await Run(RefreshFlow(of: Fixture.alice, now: Fixture.now))
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        try await run.expect("prepare exchange", then: .refused(failure))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
        // This refresh has not read the record of an earlier one, so that record remains.
        guard case .recordFailure(let reason, mayBeSpent: true) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        await run.answer(.done)
        #expect(run.outcome?.text == "kept access-1: \(reason.code)")
    }

    @Test func `Changes nothing after a cancelled or postponed connection`() async throws {
        for (event, text) in [
            (EffectResult.refused(.noResponse(.cancelled)), "cancelled"),
            (.postponed(.init(.serverError)), "serverError"),
        ] {
            var run = await Run(RefreshFlow(of: Fixture.alice, now: Fixture.now))
            try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
            try await run.expect("prepare exchange", then: event)
            #expect(run.outcome?.text == "kept access-1: \(text)")
        }
    }

    // MARK: The response

    @Test func `Clears the archive of the request after a definite rejection`() async throws {
        var run = try await refused(.oauthError(.invalidGrant, description: "reused"))
        guard case .clear(let signOut, let revision) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(revision == Fixture.old)
        #expect(
            signOut
                == SignOut(
                    .sessionEnded, date: Fixture.now, issuer: "https://auth.example.com", detail: "invalid_grant"))
        await run.answer(.done)
        #expect(run.outcome?.text == "signed out: sessionEnded")
    }

    @Test func `Mentions an unfinished refresh in the sign-out record`() async throws {
        let earlier = Fixture.now.addingTimeInterval(-60)
        let run = try await refused(.oauthError(.invalidGrant), unfinished: earlier)
        guard case .clear(let signOut, _) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(signOut.unfinishedRefresh == earlier)
    }

    @Test(
        arguments: [
            (AuthorityError.noResponse(.reset), true), (.noResponse(.timeout), true), (.noResponse(.truncated), true),
            (.noResponse(.garbled), true), (.noResponse(.cancelled), true),
            (.unavailable(status: 500, retryAfter: nil), true),
            (.unavailable(status: 502, retryAfter: nil), true), (.unavailable(status: 504, retryAfter: nil), true),
            (.unavailable(status: 408, retryAfter: nil), true), (.intercepted("a web page"), true),
            (.unclear("200 without an access token"), true), (.noResponse(.refused), false),
            (.noResponse(.unknownHost), false),
            (.unavailable(status: 503, retryAfter: nil), true), (.unavailable(status: 429, retryAfter: nil), false),
            (.oauthError(.invalidClient), false), (.oauthError(.temporarilyUnavailable), true),
            (.untrustedTLS("certificate"), false), (.proxyAuthenticationRequired, false), (.misconfigured("no"), false),
        ])
    func `Records whether the refresh token may have been spent`(
        failure: AuthorityError, mayBeSpent: Bool
    ) async throws {
        let run = try await refused(failure)
        guard case .recordFailure(_, mayBeSpent) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
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

    @Test(arguments: Fixture.authorityErrors.filter { $0 != .oauthError(.invalidGrant) && $0 != .rejected("closed") })
    func `Keeps the account after any failure except a definite rejection`(failure: AuthorityError) async throws {
        var run = try await refused(failure)
        guard case .recordFailure(let reason, _) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        await run.answer(.done)
        #expect(!run.actions.contains("clear"))
        #expect(run.outcome?.text == "kept access-1: \(reason.code)")
    }

    @Test(arguments: [
        (AuthorityError.noResponse(.timeout), true), (.noResponse(.reset), true), (.noResponse(.truncated), true),
        (.noResponse(.garbled), true), (.noResponse(.cancelled), true), (.noResponse(.refused), false),
        (.noResponse(.unknownHost), false), (.noResponse(.unreachable), true), (.noResponse(.proxy), false),
        (.oauthError(.invalidClient), false),
    ])
    func `Records every kind of failure, and delays the next refresh`(
        failure: AuthorityError, mayBeSpent: Bool
    ) async throws {
        for event in [EffectResult.done, .failed(Fixture.diskFull)] {
            var run = try await refused(failure)
            guard case .recordFailure(_, mayBeSpent) = run.action else {
                Issue.record("\(run.actions)")
                return
            }
            await run.answer(event)
            #expect(run.outcome?.text.hasPrefix("kept access-1") == true)
        }
    }

    @Test func `Keeps the refresh intent if the failure cannot be recorded`() async throws {
        for failing in Fixture.failures {
            var run = try await asking()
            try await run.expect("request tokens", then: .refused(.noResponse(.timeout)))
            try await run.expect("begin", then: .failed(failing))
            #expect(run.outcome?.text == "kept access-1: offline")
        }
    }

    @Test func `Records no failure for tokens that were replaced or removed`() async throws {
        for (content, text) in [
            (ArchiveReader.Content.present(Fixture.replaced, Fixture.other), "adopted other-access"),
            (.present(Fixture.bob, Fixture.other), "adopted bob-access"),
            (.absent(Fixture.ended), "signed out: signedOutByUser"),
            (.unreadable(AccountError(.damaged, "")), "unreadable: damaged"),
        ] {
            let run = try await refused(.noResponse(.timeout), stored: content)
            #expect(run.outcome?.text == text)
        }
    }

    @Test func `Reports a failed refresh with the account that is stored now`() async throws {
        var run = try await refused(.noResponse(.timeout), stored: .present(Fixture.renamed, Fixture.other))
        try await run.expect("record failure", then: .done)
        guard case .kept(let account, _)? = run.outcome else {
            Issue.record("\(run.actions)")
            return
        }
        #expect(account.profile.nickname == "Ally")
    }

    // MARK: Failing disks

    @Test func `Tries to save new tokens twice, then keeps them in memory`() async throws {
        var run = try await saving()
        try await run.expect("save", then: .failed(Fixture.diskFull))
        try await run.expect("save", then: .failed(Fixture.diskFull))
        guard case .keepUnsaved(let account, _, Fixture.old) = run.action else {
            Issue.record("the token is spent, and its successor is lost: \(run.actions)")
            return
        }
        #expect(account.credentials.accessToken == Secret("access-2"))
        await run.answer(.done)
        #expect(run.outcome?.text == "unsaved access-2: inaccessible")
    }

    @Test func `Drops profile fields to make room for new tokens, the largest first`() async throws {
        let tooLarge = AccountError(.tooLarge, "full")
        var stored = Fixture.alice
        stored.profile["avatar"] = .data(Data(count: 100_000))
        stored.profile["text"] = .string(String(repeating: "x", count: 40_000))
        stored.profile["nickname"] = "Ally"
        var run = try await asking(stored)
        await run.answer(.renewed(Fixture.newTokens))
        try await run.expect("begin", then: .done)
        try await run.expect("load", then: .content(.present(stored, Fixture.old)))
        try await run.expect("withdraw revocation", then: .done)
        for dropped in [["avatar"], ["avatar", "text"], Array(stored.profile.fields.keys)] {
            try await run.expect("save", then: .failed(tooLarge))
            guard case .save(let account, Fixture.old) = run.action else {
                Issue.record("\(run.actions)")
                return
            }
            #expect(account.credentials.hasSameTokens(as: Fixture.newTokens))
            #expect(Set(account.profile.fields.keys) == Set(stored.profile.fields.keys).subtracting(dropped))
        }
        try await run.expect("save", then: .failed(tooLarge))
        try await run.expect("keep unsaved", then: .done)
        #expect(run.outcome?.text == "unsaved access-2: tooLarge")
    }

    @Test func `Completes a refresh if the second attempt to save succeeds`() async throws {
        var run = try await saving()
        try await run.expect("save", then: .failed(Fixture.diskFull))
        guard case .save(let account, Fixture.old) = run.action else {
            Issue.record("\(run.actions)")
            return
        }
        await run.answer(.saved(account))
        try await run.expect("forget refresh record", then: .failed(Fixture.diskFull))
        #expect(run.outcome?.text == "renewed access-2", "an additional record is harmless")
    }

    @Test(arguments: Fixture.failures.filter { $0.code != .conflict })
    func `Keeps a rejected account that cannot be cleared`(error: AccountError) async throws {
        for failing in ["begin", "clear"] {
            var run = try await asking()
            await run.answer(.refused(.oauthError(.invalidGrant)))
            if failing == "clear" {
                try await run.expect("begin", then: .done)
                try await run.expect("load", then: .content(.present(Fixture.alice, Fixture.old)))
            }
            try await run.expect(failing, then: .failed(error))
            #expect(run.outcome?.text == "kept access-1: \(error.code == .busy ? "busy" : "cannotSave")")
        }
    }
}

extension Credentials {
    fileprivate func with(scopes: [String], clientID: String) -> Credentials {
        var credentials = self
        credentials.scopes = scopes
        credentials.clientID = clientID
        return credentials
    }
}

extension FlowRun<RefreshOutcome> {
    /// Reads the archive and connects to the service.
    mutating func connect(_ stored: Account = Fixture.alice) async throws {
        try await expect("load", then: .content(.present(stored, Fixture.old)))
        try await expect("prepare exchange", then: .done)
    }

    /// Loses the lock during the save, acquires it again, and reads the archive again.
    mutating func lose(then content: ArchiveReader.Content) async throws {
        try await expect("save", then: .failed(Fixture.conflict))
        try await expect("renew lease", then: .done)
        try await expect("begin", then: .done)
        try await expect("load", then: .content(content))
    }
}
