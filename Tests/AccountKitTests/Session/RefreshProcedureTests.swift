@testable import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct RefreshProcedureTests {
    private typealias Run = ProcedureRun<RefreshProcedure>

    private static let diskFull = AccountError(.inaccessible, "no space left on device")
    private static let conflict = AccountError(.conflict, "changed meanwhile")
    private static let ended = SignOut(.signedOutByUser, date: Fixture.now)

    /// A refresh of Alice's tokens that has come to the step that asks the service.
    private func asking(_ account: Account = Fixture.alice, unfinished: Date? = nil) throws -> Run {
        var run = Run(RefreshProcedure(of: account, now: Fixture.now))
        try run.expect("lock", then: .done)
        try run.expect("load", then: .content(.present(account, Fixture.old)))
        try run.expect("withdraw revocation", then: .done)
        try run.expect("prepare save", then: .done)
        try run.expect("record intent", then: .intentRecorded(unfinished: unfinished))
        try #require(run.step.name == "request tokens")
        return run
    }

    /// One whose reply has come and is to be saved.
    private func saving() throws -> Run {
        var run = try asking()
        try run.expect("request tokens", then: .renewed(Fixture.newTokens))
        try #require(run.step.name == "save")
        return run
    }

    @Test func `The reply is stored before anyone gets it, and the intent is forgotten after that`() throws {
        var run = try saving()
        guard case .save(let account, let revision) = run.step else { return }
        #expect(revision == Fixture.old)
        #expect(account.credentials == Fixture.newTokens.with(scopes: ["openid"], clientID: "test"))
        #expect(account.verifiedAt == Fixture.now)
        #expect(account.profile == Fixture.alice.profile)
        try run.expect("save", then: .saved(account))
        try run.expect("forget intent", then: .done)
        #expect(run.outcome?.text == "renewed access-2")
    }

    @Test func `A reply without a refresh token keeps the old one`() throws {
        var run = try asking()
        run.answer(.renewed(Credentials(accessToken: Secret("access-2"), issuedAt: Fixture.now)))
        guard case .save(let account, _) = run.step else {
            Issue.record("\(run.steps)")
            return
        }
        #expect(account.credentials.refreshToken == Secret("refresh-1"))
        #expect(account.credentials.scopes == ["openid"])
        #expect(account.credentials.clientID == "test")
        #expect(account.credentials.expiresAt == nil, "the old expiry says nothing about the new token")
    }

    @Test(arguments: Fixture.failures)
    func `The service is not asked if the reply could not be stored`(error: AccountError) throws {
        for failing in ["lock", "withdraw revocation", "prepare save", "record intent"] {
            var run = Run(RefreshProcedure(of: Fixture.alice, now: Fixture.now))
            while run.outcome == nil {
                switch run.step.name {
                case failing: run.answer(.failed(error))
                case "load": run.answer(.content(.present(Fixture.alice, Fixture.old)))
                case "record intent": run.answer(.intentRecorded(unfinished: nil))
                default: run.answer(.done)
                }
            }
            #expect(!run.steps.contains("request tokens"), "after \(failing) failed")
            #expect(run.outcome?.text == "kept access-1: \(error.code == .busy ? "busy" : "cannotSave")")
        }
    }

    @Test func `Tokens that another process has replaced are adopted without a request`() throws {
        for stored in [Fixture.replaced, Fixture.bob] {
            var run = Run(RefreshProcedure(of: Fixture.alice, now: Fixture.now))
            try run.expect("lock", then: .done)
            try run.expect("load", then: .content(.present(stored, Fixture.other)))
            #expect(run.outcome?.text == "adopted \(stored.credentials.accessToken.reveal())")
        }
    }

    @Test func `Without an archive, or without a readable one, nothing is asked`() throws {
        for (content, text) in [
            (AccountArchive.Content.absent(Self.ended), "signed out: signedOutByUser"),
            (.unreadable(AccountError(.damaged, "")), "unreadable: damaged"),
        ] {
            var run = Run(RefreshProcedure(of: Fixture.alice, now: Fixture.now))
            try run.expect("lock", then: .done)
            try run.expect("load", then: .content(content))
            #expect(run.outcome?.text == text)
        }
    }

    @Test func `Without a refresh token nothing is asked`() throws {
        var run = Run(RefreshProcedure(of: Fixture.withoutRefreshToken, now: Fixture.now))
        try run.expect("lock", then: .done)
        try run.expect("load", then: .content(.present(Fixture.withoutRefreshToken, Fixture.old)))
        #expect(run.outcome?.text == "kept access-1: notChecked")
    }

    // MARK: The answer

    @Test func `A definite answer clears the revision that it is about`() throws {
        var run = try asking()
        run.answer(.refused(.oauthError(.invalidGrant, description: "reused")))
        guard case .clear(let signOut, let revision) = run.step else {
            Issue.record("\(run.steps)")
            return
        }
        #expect(revision == Fixture.old)
        #expect(
            signOut
                == SignOut(
                    .sessionEnded, date: Fixture.now, issuer: "https://auth.example.com", detail: "invalid_grant"))
        run.answer(.done)
        try run.expect("forget intent", then: .done)
        #expect(run.outcome?.text == "signed out: sessionEnded")
    }

    @Test func `A session that ends after a refresh whose reply was never stored says so`() throws {
        let earlier = Fixture.now.addingTimeInterval(-60)
        var run = try asking(unfinished: earlier)
        run.answer(.refused(.oauthError(.invalidGrant)))
        guard case .clear(let signOut, _) = run.step else {
            Issue.record("\(run.steps)")
            return
        }
        #expect(signOut.unfinishedRefresh == earlier)
    }

    @Test(
        arguments: [
            (AuthoritySignal.noReply(.reset), true), (.noReply(.timeout), true), (.noReply(.truncated), true),
            (.noReply(.garbled), true), (.noReply(.cancelled), true),
            (.unavailable(status: 500, retryAfter: nil), true),
            (.unavailable(status: 502, retryAfter: nil), true), (.unavailable(status: 504, retryAfter: nil), true),
            (.unavailable(status: 408, retryAfter: nil), true), (.intercepted("a web page"), true),
            (.unclear("200 without an access token"), true), (.noReply(.refused), false),
            (.noReply(.unknownHost), false),
            (.unavailable(status: 503, retryAfter: nil), true), (.unavailable(status: 429, retryAfter: nil), false),
            (.oauthError(.invalidClient), false), (.oauthError(.temporarilyUnavailable), true),
            (.untrustedTLS("certificate"), false), (.proxyAuthenticationRequired, false), (.misconfigured("no"), false),
        ])
    func `The intent stays as long as the token may have been spent`(signal: AuthoritySignal, stays: Bool) throws {
        var run = try asking()
        run.answer(.refused(signal))
        while run.outcome == nil { run.answer(.done) }
        #expect(run.steps.contains("forget intent") != stays)
    }

    @Test func `An answer that spends nothing does not undo the record of a refresh before it`() throws {
        var run = try asking(unfinished: Fixture.now)
        run.answer(.refused(.noReply(.refused)))
        #expect(run.outcome?.text == "kept access-1: offline")
        #expect(!run.steps.contains("forget intent"))
    }

    @Test(arguments: Fixture.signals.filter { $0 != .oauthError(.invalidGrant) && $0 != .rejected("closed") })
    func `No other answer clears anything`(signal: AuthoritySignal) throws {
        var run = try asking()
        run.answer(.refused(signal))
        while run.outcome == nil { run.answer(.done) }
        #expect(!run.steps.contains("clear"))
        #expect(run.outcome?.text.hasPrefix("kept access-1") == true)
    }

    @Test(arguments: [
        (AuthoritySignal.noReply(.timeout), true), (.noReply(.reset), true), (.noReply(.truncated), true),
        (.noReply(.garbled), true), (.noReply(.cancelled), true), (.noReply(.refused), false),
        (.noReply(.unknownHost), false), (.noReply(.unreachable), true), (.noReply(.proxy), false),
        (.oauthError(.invalidClient), false),
    ])
    func `The intent stays if the token may have been spent`(signal: AuthoritySignal, stays: Bool) throws {
        var run = try asking()
        run.answer(.refused(signal))
        #expect(run.step.name == (stays ? "finish" : "forget intent"))
    }

    // MARK: What came in between

    @Test func `A reply that ends after a sign-out is dropped`() throws {
        var run = try saving()
        run.answer(.failed(Self.conflict))
        try run.expect("load", then: .content(.absent(Self.ended)))
        #expect(run.outcome?.text == "signed out: signedOutByUser")
    }

    @Test func `A reply that ends after another sign-in is dropped`() throws {
        for stored in [Fixture.replaced, Fixture.bob] {
            var run = try saving()
            run.answer(.failed(Self.conflict))
            try run.expect("load", then: .content(.present(stored, Fixture.other)))
            #expect(run.outcome?.text == "adopted \(stored.credentials.accessToken.reveal())")
        }
    }

    @Test func `A reply that ends after a change of the profile is stored with the change`() throws {
        var run = try saving()
        run.answer(.failed(Self.conflict))
        try run.expect("load", then: .content(.present(Fixture.renamed, Fixture.other)))
        guard case .save(let account, let revision) = run.step else {
            Issue.record("the token is spent, and its successor is lost: \(run.steps)")
            return
        }
        #expect(revision == Fixture.other)
        #expect(account.credentials.accessToken == Secret("access-2"))
        #expect(account.profile.nickname == "Ally")

        // It is changed again and again: the new tokens are remembered for the newest revision.
        let newest = ArchiveRevision(bytes: [3])
        run.answer(.failed(Self.conflict))
        try run.expect("load", then: .content(.present(Fixture.renamed, newest)))
        guard case .keepUnsaved(let kept, _, newest) = run.step else {
            Issue.record("\(run.steps)")
            return
        }
        #expect(kept.credentials.accessToken == Secret("access-2"))
        run.answer(.done)
        #expect(run.outcome?.text == "unsaved access-2: conflict")
    }

    @Test func `A definite answer about a revision that was replaced meanwhile clears nothing`() throws {
        for (content, text) in [
            (AccountArchive.Content.present(Fixture.replaced, Fixture.other), "adopted other-access"),
            (.present(Fixture.bob, Fixture.other), "adopted bob-access"),
            (.present(Fixture.renamed, Fixture.other), "kept access-1: replacedMeanwhile"),
            (.absent(Self.ended), "signed out: signedOutByUser"),
            (.unreadable(AccountError(.damaged, "")), "unreadable: damaged"),
        ] {
            var run = try asking()
            run.answer(.refused(.oauthError(.invalidGrant)))
            try run.expect("clear", then: .failed(Self.conflict))
            try run.expect("load", then: .content(content))
            #expect(run.outcome?.text == text)
        }
    }

    // MARK: A disk that fails

    @Test func `New tokens that cannot be saved are tried once more, and then remembered`() throws {
        var run = try saving()
        try run.expect("save", then: .failed(Self.diskFull))
        try run.expect("save", then: .failed(Self.diskFull))
        guard case .keepUnsaved(let account, _, Fixture.old) = run.step else {
            Issue.record("the token is spent, and its successor is lost: \(run.steps)")
            return
        }
        #expect(account.credentials.accessToken == Secret("access-2"))
        run.answer(.done)
        #expect(run.outcome?.text == "unsaved access-2: inaccessible")
    }

    @Test func `A second try that succeeds is a refresh like any other`() throws {
        var run = try saving()
        try run.expect("save", then: .failed(Self.diskFull))
        guard case .save(let account, Fixture.old) = run.step else {
            Issue.record("\(run.steps)")
            return
        }
        run.answer(.saved(account))
        try run.expect("forget intent", then: .failed(Self.diskFull))
        #expect(run.outcome?.text == "renewed access-2", "a record too many is harmless")
    }

    @Test(arguments: Fixture.failures.filter { $0.code != .conflict })
    func `An account that cannot be cleared is kept`(error: AccountError) throws {
        var run = try asking()
        run.answer(.refused(.oauthError(.invalidGrant)))
        try run.expect("clear", then: .failed(error))
        #expect(run.outcome?.text == "kept access-1: \(error.code == .busy ? "busy" : "cannotSave")")
    }

    // MARK: All of it

    @Test func `Whatever comes of each step, no token is spent in vain and nobody is signed out by mistake`() {
        let contents: [AccountArchive.Content] = [
            .present(Fixture.alice, Fixture.old), .present(Fixture.renamed, Fixture.other),
            .present(Fixture.replaced, Fixture.other), .present(Fixture.bob, Fixture.other), .absent(Self.ended),
            .unreadable(AccountError(.damaged, "")),
        ]
        let failures: [SessionEvent] = [.failed(Self.diskFull), .failed(Self.conflict)]
        let endCount = Run.explore(RefreshProcedure(of: Fixture.alice, now: Fixture.now)) { step in
            switch step {
            case .load: contents.map { .content($0) }
            case .requestTokens: [.renewed(Fixture.newTokens)] + Fixture.signals.map { .refused($0) }
            case .save(let account, _): failures + [.saved(account)]
            case .keepUnsaved: [.done]
            case .recordIntent: failures + [.intentRecorded(unfinished: nil)]
            default: failures + [.done]
            }
        } visit: { run, events in
            let steps = run.steps
            if run.step.name == "request tokens" {
                #expect(
                    steps == [
                        "lock", "load", "withdraw revocation", "prepare save", "record intent", "request tokens",
                    ])
            }
            if case .clear(_, let revision) = run.step {
                let isDefinite = events.contains { event in
                    if case .refused(.oauthError(.invalidGrant, _)) = event { return true }
                    if case .refused(.rejected) = event { return true }
                    return false
                }
                #expect(isDefinite, "\(steps)")
                #expect(revision == Fixture.old || revision == Fixture.other)
            }
            guard let outcome = run.outcome else { return }
            let hasReply = events.contains { if case .renewed = $0 { true } else { false } }
            switch outcome {
            case .renewed: #expect(events.contains { if case .saved = $0 { true } else { false } })
            case .kept: #expect(!hasReply, "a reply that is thrown away: \(steps)")
            case .unsaved: #expect(hasReply && steps.contains("keep unsaved"), "\(steps)")
            case .signedOut(let signOut): #expect(signOut == Self.ended || steps.contains("clear"), "\(steps)")
            case .adopted(let account):
                #expect(!account.credentials.hasSameTokens(as: Fixture.alice.credentials), "\(steps)")
            case .unreadable: break
            }
        }
        #expect(endCount > 100)
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
