package import AccountSupport
import Logging

/// The start-up check. The flow restarts, at most twice, if another process has stored other tokens during the check.
struct CheckFlow {
    private static let repetitionLimit = 2

    let vault: any FlowVault
    let service: any FlowService
    let now: Date

    /// The number of seconds for which a confirmation is valid. If it is 0, the flow always asks the service.
    let maximumAge: TimeInterval

    /// Whether to confirm the session of a client without a user by a request for another access token.
    var requestsMachineToken = false

    var mismatch: @Sendable (Account) -> String? = { _ in nil }

    private enum Step {
        case ended(SessionState)

        case replaced(Account)
    }

    func run() async -> SessionState {
        let content = await vault.read()
        guard case .present(var account, _) = content else { return state(without: content) }
        var repetitionCount = 0
        while true {
            switch await check(account) {
            case .ended(let state): return state
            case .replaced(let stored):
                if stored.isConfirmed(within: maximumAge, of: now) { return .verified(stored) }
                repetitionCount += 1
                guard repetitionCount <= Self.repetitionLimit else {
                    return .unverified(stored, .init(.replacedMeanwhile))
                }
                account = stored
            }
        }
    }

    private func check(_ account: Account) async -> Step {
        if account.isConfirmed(within: maximumAge, of: now) { return .ended(.verified(account)) }
        if let mismatch = mismatch(account) {
            return .ended(.unverified(account, .init(.misconfigured, detail: mismatch)))
        }
        let needsToken = account.credentials.needsToken(at: now)
        if needsToken || needsMachineToken(account), account.credentials.isRenewable {
            return await refresh(account, isAfterRefusal: false)
        }
        return await verify(account, isRefreshed: false)
    }

    /// Whether only a request for another access token can confirm the session of a client without a user.
    private func needsMachineToken(_ account: Account) -> Bool {
        let credentials = account.credentials
        return credentials.machine != nil
            && (requestsMachineToken || credentials.expiresAt == nil || credentials.isWithheld)
    }

    private func refresh(_ account: Account, isAfterRefusal: Bool)
        async -> Step
    {
        switch await service.refresh(account) {
        case .renewed(let account):
            guard isAfterRefusal || account.credentials.isWithheld else { return .ended(.verified(account)) }
            return await verify(account, isRefreshed: true)
        // Another process has obtained these tokens, and the service has not confirmed them to this process.
        case .adopted(let account): return await verify(account, isRefreshed: true)
        case .kept(let account, let reason):
            let isWithoutToken = isAfterRefusal || account.credentials.needsToken(at: now)
            return .ended(
                .unverified(account, isWithoutToken ? SessionDecision.withoutToken(reason) : reason))
        case .unsaved(let account, let error):
            return .ended(.unverified(account, .init(.notSaved, detail: error.description)))
        case .signedOut(let signOut): return .ended(.signedOut(signOut))
        case .unreadable(let error): return .ended(.unreadable(error))
        }
    }

    private func verify(_ account: Account, isRefreshed: Bool) async
        -> Step
    {
        if mismatch(account) != nil { return await check(account) }
        // The service cannot confirm a token that no request may contain.
        if account.credentials.hasWrongType {
            return .ended(.unverified(account, account.credentials.withholdingReason ?? .init(.unclearReply)))
        }
        // No service can identify a user of this token. The service has issued it, and it has not expired.
        if account.credentials.machine != nil { return .ended(.verified(account)) }
        let failure: AuthorityError
        do throws(AuthorityError) {
            let identity = try await service.verify(account)
            if identity.id == account.id { return await store(identity, of: account) }
            failure = .otherUser(id: identity.id)
        } catch {
            failure = error
        }
        let context = SessionDecision.Context(
            holdsRefreshToken: account.credentials.refreshToken != nil, justRefreshed: isRefreshed)
        switch SessionDecision.afterVerification(failure, context) {
        case .keep(let reason): return .ended(.unverified(account, reason))
        case .refreshOnce: return await refresh(account, isAfterRefusal: true)
        case .clear: return await clear(account, because: failure)
        case .adoptStored: return .ended(.unverified(account, .init(.unclearReply)))
        }
    }

    /// Stores the confirmation. If this fails, the account still counts as confirmed.
    private func store(_ identity: Identity, of account: Account)
        async -> Step
    {
        do throws(AccountError) {
            return try await vault.change(.brief) { draft in
                let content = await draft.read()
                guard case .present(let stored, let revision) = content else { return .ended(state(without: content)) }
                guard stored.isSameGrant(as: account) else { return .replaced(stored) }
                let confirmed = stored.confirmed(as: identity, at: now)
                let saved = try? await draft.save(confirmed, ifRevision: revision)
                return .ended(.verified(saved ?? confirmed))
            }
        } catch {
            return .ended(.verified(account.confirmed(as: identity, at: now)))
        }
    }

    private func clear(_ account: Account, because failure: AuthorityError) async -> Step {
        do throws(AccountError) {
            return try await vault.change(.usual) { draft in
                let content = await draft.read()
                guard case .present(let stored, let revision) = content else { return .ended(state(without: content)) }
                let context = SessionDecision.Context(
                    holdsRefreshToken: stored.credentials.refreshToken != nil,
                    sentTokenIsStored: stored.isSameGrant(as: account))
                guard case .clear(let detail) = SessionDecision.afterVerification(failure, context) else {
                    return .replaced(stored)
                }
                let signOut = SignOut(.sessionEnded, date: now, issuer: stored.issuer, detail: detail)
                do throws(AccountError) {
                    try await draft.clear(signOut, ifRevision: revision)
                    return .ended(.signedOut(signOut))
                } catch {
                    return .ended(.unverified(stored, .cannotClear(error)))
                }
            }
        } catch {
            return .ended(.unverified(account, .cannotClear(error)))
        }
    }

    private func state(without content: Vault.Content) -> SessionState {
        switch content {
        case .absent(let signOut): .signedOut(signOut)
        case .unreadable(let error): .unreadable(error)
        case .present(let account, _): .unverified(account, .init(.notChecked))
        }
    }
}

extension AccountAuthority {
    /// Returns the reason why an account does not belong to this service, with advice; `nil` if the account belongs to
    /// it.
    func mismatch(with account: Account) -> String? {
        guard !isAuthority(of: account) else { return nil }
        return "you are signed in at \(account.issuer ?? "another service"), but this program uses "
            + "\(issuer ?? "another one"): sign in again"
    }
}

extension Account {
    /// Returns whether the service confirmed the account in the last `seconds`. A confirmation from the future does not
    /// count.
    package func isConfirmed(within seconds: TimeInterval, of date: Date) -> Bool {
        guard seconds > 0, let verifiedAt, !credentials.isWithheld else { return false }
        let age = date.timeIntervalSince(verifiedAt)
        return age >= 0 && age < seconds
    }

    func confirmed(as identity: Identity, at date: Date) -> Account {
        var account = self
        account.username = identity.username ?? username
        account.profile.merge(identity.profile)
        account.verifiedAt = date
        account.credentials.isOfOtherUser = false
        return account
    }
}

extension UnverifiedReason {
    static func cannotClear(_ error: AccountError) -> UnverifiedReason {
        UnverifiedReason(
            .init(savingFailure: error),
            detail: "the service ended this session, and the archive could not be changed: \(error)")
    }
}

/// The check of a session at its service.
extension Flows {
    func check(
        with authority: any AccountAuthority, maximumAge: Duration = .zero, timeout: Duration?
    ) async -> SessionState {
        if let givenToken { return await check(givenToken, with: authority, maximumAge: maximumAge, timeout) }
        return await runCheck(with: authority, maximumAge: maximumAge, timeout: timeout)
    }

    func confirmMachine(with authority: any AccountAuthority, timeout: Duration?) async -> SessionState {
        await runCheck(with: authority, requestsMachineToken: true, timeout: timeout)
    }

    private func runCheck(
        with authority: any AccountAuthority, maximumAge: Duration = .zero, requestsMachineToken: Bool = false,
        timeout: Duration?
    ) async -> SessionState {
        let service = LiveService(authority, self, deadline: timeout.map { .now + $0 })
        let flow = CheckFlow(
            vault: vault, service: service, now: vault.clock.now, maximumAge: maximumAge.seconds,
            requestsMachineToken: requestsMachineToken
        ) { authority.mismatch(with: $0) }
        let state = await flow.run()
        if let confirmed = service.confirmed { deliverDue(after: confirmed, at: authority) }
        vault.logger?.debug("session checked", metadata: ["state": "\(state.logText.shown)"])
        if case .unverified(let account, let reason) = state, reason.code == .wrongAccount {
            await withhold(account)
        }
        return state
    }
}
