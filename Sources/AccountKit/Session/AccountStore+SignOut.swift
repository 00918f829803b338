#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Signing out, and telling the service.
extension AccountStore {
    /// Signs out: removes the account here at once, and tells the service then.
    ///
    /// If the service cannot be told, the tokens are kept, sealed, for ``deliverRevocations(with:)``. A disk that is full
    /// keeps nobody signed in.
    ///
    /// - Parameter authority: The service; `nil` does not tell it.
    /// - Returns: Who was signed out, and whether the service knows.
    /// - Throws: An ``AccountError`` if the archive could not be changed; then nobody was signed out.
    @discardableResult
    public func signOut(with authority: (any AccountAuthority)? = nil) async throws(AccountError) -> SignOutReport {
        let signOut = SignOut(.signedOutByUser, date: clock.now)
        let procedure = SignOutProcedure(signOut, isToBeTold: authority != nil)
        let ended = try await driver.run(procedure).get()
        guard let ended, let authority else { return SignOutReport(account: ended?.account, revocation: .notNeeded) }
        let account = ended.account
        if let signal = await undeliveredSignal(of: account, to: authority) {
            return SignOutReport(
                account: account, revocation: ended.isQueued ? .undelivered(signal) : .lost(signal))
        }
        let queued = (try? await driver.revocations.pending()) ?? []
        try? await driver.revocations.remove(
            queued.filter { $0.account.isSameGrant(as: account) }, patience: driver.lockPatience)
        return SignOutReport(account: account, revocation: .done)
    }

    /// Tells the services of sign-outs that they could not be told of before.
    ///
    /// Worth doing whenever a service has just been reached. Costs nothing if there are none.
    ///
    /// - Parameter authority: The service of an account; `nil` leaves that one for later.
    /// - Returns: Those that a service was asked to take and did not.
    @discardableResult
    public func deliverRevocations(
        with authority: (Account) -> (any AccountAuthority)?
    ) async -> [(revocation: PendingRevocation, signal: AuthoritySignal)] {
        guard let pending = try? await driver.revocations.pending(), !pending.isEmpty,
            let due = try? await dueRevocations()
        else { return [] }
        var done: [RevocationQueue.Pending] = []
        var undelivered: [(PendingRevocation, AuthoritySignal)] = []
        for revocation in due {
            guard let authority = authority(revocation.account) else { continue }
            if let signal = await undeliveredSignal(of: revocation.account, to: authority) {
                undelivered.append((PendingRevocation(revocation), signal))
            } else {
                done.append(revocation)
            }
        }
        // One that stays although it was delivered is delivered again, which a service takes as done (RFC 7009, 2.2).
        try? await driver.revocations.remove(done, patience: min(driver.lockPatience, .seconds(1)))
        return undelivered
    }

    /// The sign-outs that are over and not too old, after the others have been taken out of the queue.
    ///
    /// A process that died while it signed out has left who is still signed in in the queue. Only under the lock is that
    /// not to be confused with a sign-out that is under way.
    private func dueRevocations() async throws -> [RevocationQueue.Pending] {
        let transaction = try await driver.archive.storage.beginTransaction(
            patience: min(driver.lockPatience, .seconds(1)))
        var due: [RevocationQueue.Pending] = []
        do {
            let current: Account?
            switch await driver.archive.load(in: transaction) {
            case .present(let account, _): current = account
            case .absent: current = nil
            case .unreadable(let error): throw error
            }
            for revocation in try await driver.revocations.pending(in: transaction) {
                let isSignedIn = current.map { $0.sharesTokens(with: revocation.account) } ?? false
                let age = clock.now.timeIntervalSince(PendingRevocation(revocation).date)
                if isSignedIn || age > RevocationQueue.maximumAge {
                    // One that stays is looked at again the next time.
                    _ = try? await transaction.remove(revocation.entry, ifRevision: revocation.revision)
                } else {
                    due.append(revocation)
                }
            }
        } catch {
            await transaction.end()
            throw error
        }
        await transaction.end()
        return due
    }

    /// Tells a service of a sign-out: `nil` if it has taken it, or never will.
    private func undeliveredSignal(
        of account: Account, to authority: any AccountAuthority
    ) async -> AuthoritySignal? {
        do {
            _ = try await authority.revoke(account)
            return nil
        } catch {
            let signal = AuthoritySignal(error)
            let holdsRefreshToken = account.credentials.refreshToken != nil
            let ruling = Ruling(on: signal, to: .revoke, .init(holdsRefreshToken: holdsRefreshToken))
            return ruling == .revokeLater ? signal : nil
        }
    }

    /// The sign-outs that a service has not been told of yet.
    public func pendingRevocations() async throws -> [PendingRevocation] {
        try await driver.revocations.pending().map(PendingRevocation.init)
    }
}

/// A sign-out that a service has not been told of yet.
public struct PendingRevocation: Sendable, Hashable {
    /// The service.
    public let issuer: String?

    /// When the user signed out.
    public let date: Date

    init(_ pending: RevocationQueue.Pending) {
        issuer = pending.account.issuer
        date = pending.account.verifiedAt ?? .distantPast
    }
}

/// Who was signed out, and whether the service knows.
public struct SignOutReport: Sendable {
    /// Whether the service was told.
    public enum Revocation: Sendable, Hashable {
        /// There was nobody to sign out, or the service was not to be told.
        case notNeeded
        /// The service has forgotten the tokens, or never knew them.
        case done
        /// The service could not be told yet, and will be: see ``AccountStore/deliverRevocations(with:)``.
        case undelivered(AuthoritySignal)
        /// The service could not be told, and nothing could be written down to tell it later, for instance since the disk
        /// is full: the tokens live on there till they expire.
        case lost(AuthoritySignal)
    }

    /// Who was signed out; `nil` if nobody was signed in.
    public let account: Account?

    /// Whether the service was told.
    public let revocation: Revocation

    /// Where an archive that did not open is kept now, so that it is not lost; `nil` if there was none. Whose it was is not
    /// known then, and no service was told.
    public internal(set) var quarantinedArchive: String?
}
