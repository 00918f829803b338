/// Keys for the offline data of the user.
extension AccountStore {
    /// Returns the key of the user's offline data, and creates it at the first use.
    ///
    /// - Throws: `notSignedIn` if no user is signed in; `conflict` if another user signs in during the call.
    package func offlineKey() async throws(AccountError) -> OfflineKey {
        try refuseGivenToken()
        let user = try await loadedAccount()
        let known: OfflineKey?
        do {
            if let key = try await driver.offlineKeys.key(of: user) { return key }
            // Ask the user for a passphrase before acquiring the lock, so that other processes do not wait for the user.
            known = try await driver.offlineKeys.key(of: user, isInteractive: true)
        } catch {
            throw AccountError(wrapping: error)
        }
        return try await driver.withTransaction { transaction in
            guard case .present(let account, _) = await driver.load(transaction), account.isSameUser(as: user) else {
                throw AccountError(.conflict, "the signed-in user has changed: try again")
            }
            // The new place of the session would not have this key, so it could not read the data.
            if let move = account.move { throw AccountError(move) }
            return try await driver.offlineKeys.makeKey(of: account, knowing: known, at: clock.now, in: transaction)
        }
    }

    /// Whether there is a key here, of the signed-in user or of a user whose session the service has ended.
    package func hasOfflineKeys() async throws(AccountError) -> Bool {
        try refuseGivenToken()
        do {
            return try await driver.offlineKeys.isAnyThere()
        } catch {
            throw AccountError(wrapping: error)
        }
    }

    /// Throws `notSignedIn` if a key no longer belongs to the signed-in user, so that nothing may be stored with it.
    package func requireCurrent(_ key: OfflineKey) async throws(AccountError) {
        guard try await isCurrent(key) else {
            throw AccountError(
                .notSignedIn, "the user has signed out, or another user has signed in: nothing was stored")
        }
    }

    /// Whether a key still belongs to the signed-in user.
    package func isCurrent(_ key: OfflineKey) async throws(AccountError) -> Bool {
        guard case .present(let account, _) = await driver.load(), key.record.payload.owner == account.owner else {
            return false
        }
        do {
            return try await driver.offlineKeys.isCurrent(key)
        } catch {
            throw AccountError(wrapping: error)
        }
    }
}
