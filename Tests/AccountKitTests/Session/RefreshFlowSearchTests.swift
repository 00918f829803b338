@testable import AccountKit
import Testing

struct RefreshFlowSearchTests {
    private typealias Run = FlowRun<RefreshOutcome>

    /// The account whose tokens a search refreshes.
    private enum Subject: CaseIterable {
        case user, machine

        var account: Account { self == .user ? Fixture.alice : Fixture.machine }

        var newTokens: Credentials { Fixture.newTokens.renewed(for: account) }

        /// The account after another process has changed only its profile.
        var renamed: Account {
            var account = account
            account.profile.nickname = "Ally"
            return account
        }

        /// The account with tokens that another process has obtained.
        var replaced: Account {
            account.with(token: "other-access", refreshToken: self == .user ? "other-refresh" : nil)
        }

        var begin: String { self == .user ? "record intent" : "begin exchange" }
    }

    @Test(arguments: [false, true])
    func `Never loses a token in any sequence of refresh results`(
        supportsPerGrantRevocation: Bool
    ) async {
        await search(.user, supportsPerGrantRevocation: supportsPerGrantRevocation)
    }

    @Test func `Never ends a machine's session in any sequence of responses`() async {
        await search(.machine, supportsPerGrantRevocation: false)
    }

    private func search(_ subject: Subject, supportsPerGrantRevocation: Bool) async {
        let contents: [ArchiveReader.Content] =
            [
                .present(subject.account, Fixture.old), .present(subject.renamed, Fixture.other),
                .present(subject.replaced, Fixture.other), .absent(Fixture.ended),
                .unreadable(AccountError(.damaged, "")),
            ] + (subject == .user ? [.present(Fixture.bob, Fixture.other)] : [])
        // A machine's search needs fewer results, since its flow differs only in the request.
        let failures = [EffectResult.failed(Fixture.conflict)] + (subject == .user ? [.failed(Fixture.diskFull)] : [])
        let flow = RefreshFlow(
            of: subject.account, now: Fixture.now, supportsPerGrantRevocation: supportsPerGrantRevocation)
        var hasCleared = false
        let endCount = await Run.explore(flow) { run in
            switch run.action {
            case .load: contents.map { .content($0) }
            case .prepareExchange:
                [
                    .done, .refused(.notSent(.noResponse(.timeout))), .refused(.noResponse(.cancelled)),
                    .postponed(.init(.serverError)),
                ]
            case .requestTokens: [.renewed(Fixture.newTokens)] + Fixture.authorityErrors.map { .refused($0) }
            case .save(let account, _): failures + [.saved(account)]
            case .keepUnsaved, .endTransaction, .revoke: [.done]
            case .queueRevocation: failures + [.queued(Fixture.pending)]
            case .recordIntent, .beginExchange:
                failures + [.intentRecorded(unfinished: nil), .postponed(.init(.serverError))]
            default: failures + [.done]
            }
        } visit: { run, events in
            if case .clear = run.action { hasCleared = true }
            check(run, of: subject, after: events, supportsPerGrantRevocation: supportsPerGrantRevocation)
        }
        #expect(endCount > 500)
        #expect(hasCleared == (subject == .user), "no response ends the session of a machine")
    }

    /// Another process replaces the refresh token while the flow connects, and later the lock is lost.
    @Test func `Sends a refresh with the tokens for which it was prepared`() async {
        let rotated = Fixture.alice.with(token: "access-1", refreshToken: "refresh-9")
        let endCount = await Run.explore(RefreshFlow(of: Fixture.alice, now: Fixture.now)) { run in
            switch run.action {
            case .load: [.content(.present(Fixture.alice, Fixture.old)), .content(.present(rotated, Fixture.other))]
            case .requestTokens: [.renewed(Fixture.newTokens)]
            case .save(let account, _): [.saved(account), .failed(Fixture.conflict)]
            case .recordIntent: [.intentRecorded(unfinished: nil)]
            case .queueRevocation: [.queued(Fixture.pending)]
            default: [.done]
            }
        } visit: { run, _ in
            guard case .requestTokens(let sent) = run.action else { return }
            let prepared = run.calls.compactMap { call in
                if case .prepareExchange(let account, _) = call { account } else { nil }
            }
            #expect(prepared.last.map { sent.isSameGrant(as: $0) } == true, "\(run.actions)")
        }
        #expect(endCount > 20)
    }

    /// Checks the conditions of the current action.
    private func check(
        _ run: Run, of subject: Subject, after events: [EffectResult], supportsPerGrantRevocation: Bool
    ) {
        let actions = run.actions
        let isLocked = run.isInTransaction(after: events)
        let lastContent = events.compactMap { if case .content(let content) = $0 { content } else { nil } }.last
        switch run.action {
        case .beginTransaction: #expect(!isLocked, "\(actions)")
        case .requestTokens(let sent):
            #expect(!isLocked, "other processes wait for the service: \(actions)")
            #expect(
                actions.suffix(8) == [
                    "prepare exchange", "begin", "load", "withdraw revocation", "prepare save", subject.begin, "end",
                    "request tokens",
                ])
            #expect(sent.credentials.hasSameTokens(as: subject.account.credentials))
        case .prepareExchange: #expect(!isLocked, "other processes wait for the service: \(actions)")
        case .revoke(let account, _):
            #expect(!isLocked, "other processes wait for the service: \(actions)")
            #expect(account.credentials.hasSameTokens(as: subject.newTokens))
        case .clear(_, let revision):
            #expect(isLocked, "\(actions)")
            let isDefinite = events.contains { event in
                if case .refused(.oauthError(.invalidGrant, _)) = event { return true }
                if case .refused(.rejected) = event { return true }
                return false
            }
            #expect(isDefinite, "\(actions)")
            guard case .present(let stored, revision)? = lastContent else {
                Issue.record("cleared an account that it had not read: \(actions)")
                return
            }
            #expect(stored.isSameGrant(as: subject.account), "\(actions)")
        case .save(let account, let revision):
            #expect(isLocked, "\(actions)")
            guard case .present(let stored, revision)? = lastContent else {
                Issue.record("replaced an account that it had not read: \(actions)")
                return
            }
            #expect(stored.isSameGrant(as: subject.account), "\(actions)")
            #expect(account.profile == stored.profile, "a change is undone: \(actions)")
            #expect(account.credentials.hasSameTokens(as: subject.newTokens))
        case .recordIntent, .beginExchange, .recordFailure, .prepareSave, .forgetRefreshRecord, .withdrawRevocation,
            .queueRevocation:
            #expect(isLocked, "\(actions)")
        case .finish: check(run.outcome!, run, of: subject, events, lastContent, supportsPerGrantRevocation)
        default: break
        }
    }

    /// The conditions at the end.
    private func check(
        _ outcome: RefreshOutcome, _ run: Run, of subject: Subject, _ events: [EffectResult],
        _ lastContent: ArchiveReader.Content?, _ supportsPerGrantRevocation: Bool
    ) {
        let actions = run.actions
        let hasResponse = events.contains { if case .renewed = $0 { true } else { false } }
        let isSaved = events.contains { if case .saved = $0 { true } else { false } }
        if hasResponse {
            // The new tokens must be revoked, unless that would end the same user's new sign-in.
            var isOfSameUser = false
            if case .present(let stored, _)? = lastContent {
                // After the lease was renewed, the stored tokens may belong to the same sign-in.
                isOfSameUser =
                    stored.isSameUser(as: subject.account)
                    && (!supportsPerGrantRevocation || actions.contains("renew lease"))
            }
            let isRevoked = actions.contains("queue revocation") && actions.contains("revoke")
            let isRemembered = actions.contains("keep unsaved")
            if isSaved || isRemembered {
                #expect(isSaved != isRemembered && !isRevoked, "\(actions)")
            } else {
                #expect(isRevoked || isOfSameUser, "tokens are lost: \(actions)")
            }
        } else {
            #expect(!actions.contains("save") && !actions.contains("keep unsaved") && !actions.contains("revoke"))
        }
        switch outcome {
        case .renewed: #expect(isSaved)
        case .kept: #expect(!hasResponse, "a response is discarded: \(actions)")
        case .unsaved: #expect(hasResponse && actions.contains("keep unsaved"), "\(actions)")
        case .signedOut(let signOut): #expect(signOut == Fixture.ended || actions.contains("clear"), "\(actions)")
        case .adopted(let account):
            #expect(!account.credentials.hasSameTokens(as: subject.account.credentials), "\(actions)")
        case .unreadable: break
        }
        // A failure is recorded only if the outcome keeps the account.
        if actions.contains("record failure") {
            guard case .kept = outcome else {
                Issue.record("\(actions)")
                return
            }
        }
    }
}

extension Credentials {
    /// Returns the credentials that are stored if these are the response.
    fileprivate func renewed(for account: Account) -> Credentials { account.credentials.renewed(by: self) }
}
