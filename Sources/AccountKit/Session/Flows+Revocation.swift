import Logging

extension Flows {
    /// Asks the service to revoke tokens, and then removes the entry from the queue or records the failure in the
    /// entry. If the revocation would end the stored sign-in, this function sends nothing, and the entry stays until
    /// that user signs out.
    func revoke(
        _ account: Account, _ pending: RevocationQueue.Pending?, at authority: any AccountAuthority
    ) async -> RevocationReport {
        var report: RevocationReport
        do {
            guard try await mayBeRevoked(account, authority) else {
                let reason = AuthorityError.unclear("the revocation would end the session that is signed in")
                return RevocationReport(pending == nil ? .notSupported : .queued(reason), of: account)
            }
            guard authority.isAuthority(of: account) else {
                throw AuthorityError.misconfigured("the tokens belong to another service")
            }
            report = RevocationReport(try await authority.revoke(account), of: account)
        } catch let error as AccountError {
            // Do not send the revocation while it is unknown whether it would end the stored sign-in.
            report = RevocationReport(.queued(.unclear(error.userText)), of: account)
        } catch {
            let failure = AuthorityError(error)
            let isTriedLater = SessionDecision.afterRevocation(failure) == .tryLater
            report = RevocationReport(isTriedLater ? .queued(failure) : .refused(failure), of: account)
        }
        guard var pending else { return report }
        let outcome = report.outcome
        let isRefusal = if case .refused = outcome { true } else { false }
        if isRefusal, pending.payload.refusalCount + 1 >= RevocationQueue.maximumRefusalCount {
            report.isGivenUp = true
        }
        do {
            try await vault.change(timeout: vault.briefTimeout) { draft in
                switch outcome {
                case .notNeeded, .done, .notSupported:
                    _ = try await draft.transaction.remove(pending.entry, ifRevision: pending.revision)
                case .queued, .refused, .lost:
                    pending.payload.fail(isRefusal: isRefusal, at: vault.clock.now)
                    if pending.payload.refusalCount >= RevocationQueue.maximumRefusalCount {
                        _ = try await draft.transaction.remove(pending.entry, ifRevision: pending.revision)
                    } else {
                        try await vault.revocations.update(pending, at: vault.clock.now, in: draft.transaction)
                    }
                }
            }
        } catch {
            // Either another process has already changed the entry, or the service will accept the next delivery as
            // done (RFC 7009, section 2.2).
            vault.logger?.debug("the queue of revocations could not be changed", metadata: ["error": "\(error)"])
        }
        return report
    }

    private func mayBeRevoked(_ account: Account, _ authority: any AccountAuthority) async throws -> Bool {
        try await vault.change(timeout: vault.briefTimeout) { draft in
            guard let stored = try await draft.account() else { return true }
            return !stored.isEnded(
                byRevoking: account, supportsPerGrantRevocation: authority.supportsPerGrantRevocation)
        }
    }
}
