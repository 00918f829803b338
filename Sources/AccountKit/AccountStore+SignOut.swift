import AccountSupport

extension AccountStore {
    /// Signs the user out: removes the account, and then revokes its tokens at the service.
    ///
    /// If the service is unreachable, the function queues the encrypted tokens. The store revokes them after the next
    /// successful request to that service.
    ///
    /// Call this function only if the user signs out. If the service has already ended the session, the function removes the
    /// profile and the offline data, with unsent changes, which AccountKit kept for the user's next sign-in.
    ///
    /// A full disk does not prevent a sign-out. If the archive cannot be opened, the function moves the archive aside, and
    /// cannot revoke its tokens. The sign-out fails instead if the archive is locked, because its passphrase,
    /// program or variable is missing, or if several machines share the storage.
    ///
    /// - Parameter authority: The service; if `nil`, no tokens are revoked.
    /// - Returns: The account that was signed out, and whether its tokens were revoked.
    /// - Throws: An ``AccountError`` if the archive could not be changed. In this case, the user is still signed in.
    @discardableResult
    public func signOut(with authority: (any AccountAuthority)? = nil) async throws(AccountError) -> SignOutReport {
        try await flows.signOut(with: authority)
    }

    /// Revokes queued tokens, with the service that `authority` returns for each account. If `ignoringPauses` is `true`, this
    /// includes tokens whose pause has not ended.
    ///
    /// - Parameter isInteractive: Whether to prompt for the passphrase of the queued tokens.
    /// - Returns: The result of each attempt.
    @discardableResult
    package func deliverRevocations(
        with authority: (Account) -> (any AccountAuthority)?, ignoringPauses: Bool = false, isInteractive: Bool = false
    ) async -> [RevocationReport] {
        let pending = await vault.revocations.readable(isInteractive: isInteractive)
        return await flows.deliver(
            pending.map { ($0, authority($0.payload.account)) }, ignoringPauses: ignoringPauses)
    }

    package func pendingRevocations() async throws -> [PendingRevocation] {
        await vault.revocations.readable().map { PendingRevocation($0.payload) }
    }

    /// Returns whether a sign-out would remove offline data of a user whose session the service has ended.
    package func hasOfflineDataOfEndedSession() async throws(AccountError) -> Bool {
        guard case .absent = await vault.read() else { return false }
        return try await AccountError.wrappingErrors {
            let kept = SignOutRecord.kept(in: try await vault.storage.read(.signOut)?.bytes)
            for entry in kept where ArchiveEntry.offlineKeys.contains(entry) {
                if try await vault.storage.read(entry) != nil { return true }
            }
            return false
        }
    }

    /// Returns whether the stored account or a queued revocation uses the client of another account. If the archive
    /// or an entry cannot be opened, returns `true`.
    package func usesClient(of other: Account) async throws -> Bool {
        // Read the queue last: a sign-out queues its revocation before it removes the account.
        switch await load() {
        case .verified(let account), .unverified(let account, _):
            if account.usesSameClient(as: other) { return true }
        case .unreadable: return true
        case .signedOut: break
        }
        return try await vault.revocations.needsClient(of: other)
    }
}
