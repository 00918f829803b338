extension AccountStore {
    /// Returns the key for the offline data of the signed-in user, and creates the key at the first use. Throws
    /// `conflict` if another user signs in during the call.
    package func offlineKey() async throws(AccountError) -> OfflineKey {
        try refuseGivenToken()
        let user = try await loadedAccount()
        if let key = try await offlineKey(of: user, isInteractive: false) { return key }
        // Ask for a passphrase before acquiring the lock, so that other processes do not wait for the user.
        let known = try await offlineKey(of: user, isInteractive: true)
        return try await vault.change { draft in
            guard case .present(let account, _) = await draft.read(), account.isSameUser(as: user) else {
                throw AccountError(.conflict, "the signed-in user has changed", hint: "try again")
            }
            return try await vault.offlineKeys.makeKey(
                of: account, knowing: known, at: clock.now, in: draft.transaction)
        }
    }

    private func offlineKey(of user: Account, isInteractive: Bool) async throws(AccountError) -> OfflineKey? {
        try await AccountError.wrappingErrors {
            try await vault.offlineKeys.key(of: user, isInteractive: isInteractive)
        }
    }

    /// Returns whether this storage contains a key of the signed-in user, or of a user whose session the service has
    /// ended.
    package func hasOfflineKeys() async throws(AccountError) -> Bool {
        try refuseGivenToken()
        return try await AccountError.wrappingErrors { try await vault.offlineKeys.isAnyThere() }
    }

    /// Throws `notSignedIn` if a key no longer belongs to the signed-in user, so that the caller stores no data with
    /// that key.
    package func requireCurrent(_ key: OfflineKey) async throws(AccountError) {
        guard try await isCurrent(key) else {
            throw AccountError(
                .notSignedIn, "the user has signed out, or another user has signed in: nothing was stored")
        }
    }

    package func isCurrent(_ key: OfflineKey) async throws(AccountError) -> Bool {
        guard case .present(let account, _) = await vault.read(), key.record.payload.owner == account.owner else {
            return false
        }
        return try await AccountError.wrappingErrors { try await vault.offlineKeys.isCurrent(key) }
    }
}
