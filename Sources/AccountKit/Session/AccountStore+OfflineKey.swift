/// What is kept for the user on this machine besides the account.
extension AccountStore {
    /// The key of the signed-in user's offline data, which is made at its first use.
    ///
    /// - Throws: `notSignedIn` if nobody is signed in; `conflict` if somebody else signs in meanwhile.
    package func offlineKey() async throws(AccountError) -> OfflineKey {
        try refuseGivenToken()
        let user = try await loadedAccount()
        let known: OfflineKey?
        do {
            if let key = try await driver.offlineKeys.key(of: user) { return key }
            // A person is not asked under the lock, where others would wait.
            known = try await driver.offlineKeys.key(of: user, isInteractive: true)
        } catch {
            throw AccountError(wrapping: error)
        }
        return try await driver.withTransaction { transaction in
            guard case .present(let account, _) = await driver.load(transaction), account.isSameUser(as: user) else {
                throw AccountError(.conflict, "somebody else has signed in or out meanwhile: try again")
            }
            // What it seals could be read where the session is now by nobody.
            if let move = account.move { throw AccountError(move) }
            return try await driver.offlineKeys.makeKey(of: account, knowing: known, at: clock.now, in: transaction)
        }
    }

    /// Whether any user has a key here: who is signed in, or somebody whose session the service has ended.
    package func hasOfflineKeys() async throws(AccountError) -> Bool {
        try refuseGivenToken()
        do {
            return try await driver.offlineKeys.isAnyThere()
        } catch {
            throw AccountError(wrapping: error)
        }
    }

    /// Whether what a key seals is still the signed-in user's: nobody has signed out, or in as someone else.
    package func isCurrent(_ key: OfflineKey) async throws(AccountError) -> Bool {
        guard case .present(let account, _) = await driver.load(), account.isSameUser(as: key.user) else {
            return false
        }
        do {
            return try await driver.offlineKeys.isCurrent(key)
        } catch {
            throw AccountError(wrapping: error)
        }
    }
}
