@testable import AccountKit
import Testing

/// The promises of a refresh that hold after every sequence of results: which tokens are sent, saved, kept in memory or
/// revoked, when an account is cleared, and that the outcome is the content of the last read. This is the lowest level
/// that can see a flow break them. ``RefreshFlowTests`` has only the cases that this search does not reach.
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
        let contents: [Vault.Content] =
            [
                .present(subject.account, Fixture.old), .present(subject.renamed, Fixture.other),
                .present(subject.replaced, Fixture.other), .absent(Fixture.ended),
                .unreadable(AccountError(.damaged, "")),
            ] + (subject == .user ? [.present(Fixture.bob, Fixture.other)] : [])
        // A machine's search needs fewer results, since its flow differs only in the request.
        let failures = [EffectResult.failed(Fixture.conflict)] + (subject == .user ? [.failed(Fixture.diskFull)] : [])
        let flow: Run.Flow = {
            await RefreshFlow(
                $0, $0, of: subject.account, now: Fixture.now, supportsPerGrantRevocation: supportsPerGrantRevocation
            ).run()
        }
        var hasCleared = false
        let endCount = await Run.explore(flow) { run in
            switch run.action {
            case .load: contents.map { .content($0) }
            case .prepareExchange:
                [
                    // Before a token is sent, no failure is a rejection of the token.
                    .done, .refused(.oauthError("invalid_grant")), .refused(.noResponse(.cancelled)),
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
        let endCount = await Run.explore({ await RefreshFlow($0, $0, of: Fixture.alice, now: Fixture.now).run() }) {
            run in
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
            let hasFailed = events.suffix(7).contains { if case .failed = $0 { true } else { false } }
            #expect(!hasFailed, "the response could not be saved: \(actions)")
            #expect(sent.credentials.hasSameTokens(as: subject.account.credentials))
        case .prepareExchange(let account, _):
            #expect(!isLocked, "other processes wait for the service: \(actions)")
            #expect(lastContent?.account?.isSameGrant(as: account) == true, "\(actions)")
        case .revoke(let account, let pending):
            #expect(!isLocked, "other processes wait for the service: \(actions)")
            #expect(account.credentials.hasSameTokens(as: subject.newTokens))
            let isQueued = events.contains { if case .queued = $0 { true } else { false } }
            #expect((pending != nil) == isQueued, "\(actions)")
        case .queueRevocation(let account, let isSignOut):
            #expect(isLocked && !isSignOut, "\(actions)")
            #expect(account.credentials.hasSameTokens(as: subject.newTokens))
            // After the lease was renewed, the stored tokens may belong to the same sign-in.
            let maySpare = lastContent?.account?.isSameUser(as: subject.account) == true
            let endsOnlyItself = supportsPerGrantRevocation && !actions.contains("renew lease")
            #expect(!maySpare || endsOnlyItself, "the stored session would end: \(actions)")
        case .clear(_, let revision):
            #expect(isLocked, "\(actions)")
            #expect(actions.contains("request tokens") && events.contains(where: Self.isDefinite), "\(actions)")
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
            #expect(account.verifiedAt == Fixture.now)
            #expect(actions.sinceLastLoad.contains("withdraw revocation"), "\(actions)")
        case .recordFailure(let reason, let mayBeSpent):
            #expect(isLocked && lastContent?.account?.isSameGrant(as: subject.account) == true, "\(actions)")
            guard case .refused(let failure)? = events.last(where: Self.isRefusal) else {
                Issue.record("\(actions)")
                return
            }
            // A refresh that was not sent has not read the record of an earlier one, so that record remains.
            let isKnown = actions.contains("request tokens")
            let isSpent = subject == .user && !failure.wasCertainlyNotCarriedOut
            #expect(mayBeSpent == (!isKnown || isSpent), "\(actions)")
            // Other processes learn from the record that only another sign-in helps.
            let isRefusal = isKnown && subject == .user && Self.isRefusalToRenew(failure)
            #expect(reason.refusesRenewal == isRefusal, "\(actions)")
        case .forgetRefreshRecord:
            let isSaved = events.contains { if case .saved = $0 { true } else { false } }
            #expect(isLocked && isSaved, "\(actions)")
        case .recordIntent, .beginExchange, .prepareSave, .withdrawRevocation: #expect(isLocked, "\(actions)")
        case .finish: check(run.outcome!, run, of: subject, events, lastContent, supportsPerGrantRevocation)
        default: break
        }
    }

    /// The conditions at the end.
    private func check(
        _ outcome: RefreshOutcome, _ run: Run, of subject: Subject, _ events: [EffectResult],
        _ lastContent: Vault.Content?, _ supportsPerGrantRevocation: Bool
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
        case .renewed: #expect(isSaved && actions.contains("forget refresh record"), "\(actions)")
        case .kept: #expect(!hasResponse, "a response is discarded: \(actions)")
        case .unsaved: #expect(hasResponse && actions.contains("keep unsaved"), "\(actions)")
        case .signedOut(let signOut):
            let isCleared = zip(actions, events).contains { name, event in
                if name == "clear", case .done = event { true } else { false }
            }
            #expect(signOut == Fixture.ended || isCleared, "\(actions)")
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
        // Unless the lock is unavailable after it, the last read determines the outcome.
        guard let lastContent, !actions.sinceLastLoad.contains("begin") else { return }
        switch lastContent {
        case .absent(let signOut): #expect(outcome.text == "signed out: \(signOut.reason)", "\(actions)")
        case .unreadable(let error): #expect(outcome.text == "unreadable: \(error.code)", "\(actions)")
        case .present(let stored, _) where !stored.isSameGrant(as: subject.account):
            #expect(outcome.text == "adopted \(stored.credentials.accessToken.reveal())", "\(actions)")
        case .present(let stored, _):
            if let account = outcome.account { #expect(account.profile == stored.profile, "\(actions)") }
            guard subject == .user, let refusal = events.lastIndex(where: Self.isRefusal),
                actions[refusal...].contains("load")
            else { return }
            let isDefinite = actions[refusal] == "request tokens" && Self.isDefinite(events[refusal])
            #expect(actions.contains(isDefinite ? "clear" : "record failure"), "\(actions)")
        }
    }

    private static func isRefusal(_ event: EffectResult) -> Bool { if case .refused = event { true } else { false } }

    private static func isRefusalToRenew(_ failure: AuthorityError) -> Bool {
        switch failure {
        case .oauthError("interaction_required", _), .refused, .unauthorized, .forbidden: true
        default: false
        }
    }

    private static func isDefinite(_ event: EffectResult) -> Bool {
        switch event {
        case .refused(.oauthError("invalid_grant", _)), .refused(.rejected): true
        default: false
        }
    }
}

extension [String] {
    /// The calls since the last read of the account, including that read.
    fileprivate var sinceLastLoad: ArraySlice<String> { self[(lastIndex(of: "load") ?? startIndex)...] }
}

extension RefreshOutcome {
    fileprivate var account: Account? {
        switch self {
        case .renewed(let account), .adopted(let account), .kept(let account, _), .unsaved(let account, _): account
        case .signedOut, .unreadable: nil
        }
    }
}

extension Credentials {
    /// Returns the credentials that are stored if these are the response.
    fileprivate func renewed(for account: Account) -> Credentials { account.credentials.renewed(by: self) }
}
