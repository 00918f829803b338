import AccountSupport

/// Removes the account because the user signs out. The flow first queues the tokens for revocation, so that a crash
/// does not lose the tokens. If the service has already ended the session, the flow removes the data that was kept for the
/// user's next sign-in.
struct SignOutFlow: Sendable {
    enum Ended: Sendable {
        /// No user was signed in. If the service had ended the session, the user's data may have been removed.
        case noUser(removedData: Bool)

        /// The account that was signed out, and the queue entry of its tokens; `nil` if the tokens were not queued.
        case account(Account, RevocationQueue.Record?)

        case quarantined(place: String)
    }

    let signOut: SignOut

    let revokesTokens: Bool

    /// Whether an archive that fails to open with an error is moved aside.
    let mayRemove: @Sendable (AccountError) -> Bool

    func run(_ vault: any FlowVault) async -> Result<Ended, AccountError> {
        do throws(AccountError) {
            return try await vault.change(.usual) { draft in await end(in: draft) }
        } catch {
            return .failure(error)
        }
    }

    private func end(in draft: any FlowDraft) async -> Result<Ended, AccountError> {
        do throws(AccountError) {
            switch await draft.read() {
            case .absent:
                return .success(.noUser(removedData: try await draft.forgetEndedUser()))
            case .present(let account, let revision):
                return .success(.account(account, try await remove(account, revision, draft)))
            // An archive that cannot be reached cannot be moved either.
            case .unreadable(let error):
                guard mayRemove(error) else { throw error }
                return .success(.quarantined(place: try await draft.quarantine(signOut)))
            }
        } catch {
            return .failure(error)
        }
    }

    private func remove(
        _ account: Account, _ revision: ArchiveRevision, _ draft: any FlowDraft
    ) async throws(AccountError) -> RevocationQueue.Record? {
        var pending: RevocationQueue.Record?
        // The user is signed out even if the disk is full or the queue cannot be written.
        if revokesTokens { pending = try? await draft.queueRevocation(account, isSignOut: true) }
        do {
            try await draft.clear(signOut, ifRevision: revision)
        } catch {
            // The user is still signed in. Even if `pending` is `nil`, the queue entry may have been written.
            if revokesTokens { try? await draft.withdrawRevocation(account) }
            throw error
        }
        return pending
    }
}

extension Flows {
    func signOut(with authority: (any AccountAuthority)?) async throws(AccountError) -> SignOutReport {
        let signOut = SignOut(.signedOutByUser, date: vault.clock.now)
        let flow = SignOutFlow(signOut: signOut, revokesTokens: authority != nil, mayRemove: mayRemove)
        switch try await flow.run(vault).get() {
        case .noUser(let removedData):
            return SignOutReport(account: nil, revocation: .notNeeded, removedKeptData: removedData)
        case .quarantined(let place):
            return SignOutReport(account: nil, revocation: .notNeeded, quarantinedArchive: place)
        case .account(let account, let pending):
            guard let authority else { return SignOutReport(account: account, revocation: .notNeeded) }
            // The user is signed out even if the task is cancelled, so revoke the tokens in that case too.
            let report: RevocationReport
            if ThreadSupply.isSufficient {
                report = await shielded { [self] in await revoke(account, pending, at: authority) }
                if report.outcome == .done { deliverDue(after: account, at: authority) }
            } else {
                report = RevocationReport(.queued(.noThread), of: account)
            }
            return SignOutReport(account: account, revocation: report.outcome.ifQueued(pending != nil))
        }
    }
}

/// The result of a sign-out.
public struct SignOutReport: Sendable {
    /// The account that was signed out; `nil` if no user was signed in, or if the archive could not be opened.
    public let account: Account?

    /// Whether the tokens were revoked.
    public let revocation: RevocationOutcome

    /// The new name of an archive that could not be opened; `nil` if the archive opened, or if there was no archive.
    package let quarantinedArchive: String?

    /// Whether data was removed that was kept when the service ended the session.
    package let removedKeptData: Bool

    init(
        account: Account?, revocation: RevocationOutcome, quarantinedArchive: String? = nil,
        removedKeptData: Bool = false
    ) {
        self.removedKeptData = removedKeptData
        self.account = account
        self.revocation = revocation
        self.quarantinedArchive = quarantinedArchive
    }
}
