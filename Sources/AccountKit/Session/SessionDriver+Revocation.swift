import Logging

/// Tokens that are given back to the service that issued them.
extension SessionDriver {
    /// Asks the service to revoke tokens, and takes the entry out of the queue once it has, or writes down that it has not.
    ///
    /// If the revocation would end the stored sign-in, nothing is sent: the entry stays in the queue until that user signs
    /// out.
    ///
    /// - Returns: The outcome, with the reason if the tokens were not revoked.
    func revoke(
        _ account: Account, _ pending: RevocationQueue.Pending?, at authority: any AccountAuthority
    ) async -> RevocationReport {
        var report: RevocationReport
        do {
            guard try await mayBeRevoked(account, authority) else {
                return RevocationReport(pending == nil ? .notSupported : .queued, of: account)
            }
            guard authority.isAuthority(of: account) else {
                throw AuthorityError.misconfigured("the tokens belong to another service")
            }
            report = RevocationReport(try await authority.revoke(account), of: account)
        } catch let error as AccountError {
            // Until it is known whether the revocation would end the stored sign-in, do not send it.
            report = RevocationReport(.queued, of: account, .unclear("\(error)"))
        } catch {
            let failure = AuthorityError(error)
            report = RevocationReport(
                SessionDecision.afterRevocation(failure) == .tryLater ? .queued : .refused, of: account, failure)
        }
        guard var pending else { return report }
        if report.outcome == .refused, pending.payload.refusalCount + 1 >= RevocationQueue.maximumRefusalCount {
            report.isGivenUp = true
        }
        let outcome = report.outcome
        do {
            try await withTransaction(timeout: min(lockTimeout, .seconds(1))) { transaction in
                switch outcome {
                case .done, .notSupported:
                    _ = try await transaction.remove(pending.entry, ifRevision: pending.revision)
                case .queued, .refused:
                    pending.payload.fail(isRefusal: outcome == .refused, at: clock.now)
                    if pending.payload.refusalCount >= RevocationQueue.maximumRefusalCount {
                        _ = try await transaction.remove(pending.entry, ifRevision: pending.revision)
                    } else {
                        try await revocations.update(pending, at: clock.now, in: transaction)
                    }
                }
            }
        } catch {
            // Another process was faster; or it stays and is delivered again, which a service takes as done (RFC 7009,
            // section 2.2).
            logger?.debug("the queue of revocations could not be changed", metadata: ["error": "\(error)"])
        }
        return report
    }

    private func mayBeRevoked(_ account: Account, _ authority: any AccountAuthority) async throws -> Bool {
        try await withTransaction(timeout: min(lockTimeout, .seconds(1))) { transaction in
            switch await archive.load(in: transaction) {
            case .present(let stored, _):
                return !stored.isEnded(
                    byRevoking: account, supportsPerGrantRevocation: authority.supportsPerGrantRevocation)
            case .absent: return true
            case .unreadable(let error): throw error
            }
        }
    }
}

extension Account {
    /// Whether a service that revokes the tokens of another account ends this one's session too.
    ///
    /// - Parameters:
    ///   - other: The owner of the tokens; its id is empty if the service has not identified the user.
    ///   - supportsPerGrantRevocation: Whether the service leaves the user's other sign-ins valid.
    func isEnded(byRevoking other: Account, supportsPerGrantRevocation: Bool) -> Bool {
        guard issuer == other.issuer, other.id.isEmpty || id == other.id else { return false }
        if let token = credentials.refreshToken, token == other.credentials.refreshToken { return true }
        if credentials.accessToken == other.credentials.accessToken { return true }
        return credentials.clientID == other.credentials.clientID && !supportsPerGrantRevocation
    }
}
