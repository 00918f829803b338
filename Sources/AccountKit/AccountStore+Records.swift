extension AccountStore {
    /// Returns the key for the offline data of the signed-in user, and creates the key at the first use. Throws
    /// `conflict` if another user signs in during the call.
    package func offlineKey() async throws(AccountError) -> OfflineKey {
        try flows.refuseGivenToken()
        let user = try await flows.loadedAccount()
        if let key = try await offlineKey(of: user, isInteractive: false) { return key }
        // Ask for a passphrase before acquiring the lock, so that other processes do not wait for the user.
        let known = try await offlineKey(of: user, isInteractive: true)
        return try await vault.change { draft in
            guard case .present(let account, _) = await draft.read(), account.isSameUser(as: user) else {
                throw AccountError(.conflict, "the signed-in user has changed", hint: "try again")
            }
            return try await draft.offlineKeys.makeKey(of: account, knowing: known)
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
        try flows.refuseGivenToken()
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

    /// Runs requests for the user of an offline key. Within `body`, a store throws `conflict` instead of returning a
    /// token of another user.
    package static func withRequests<Value>(
        for key: OfflineKey, _ body: () async throws -> Value
    ) async rethrows -> Value {
        try await RequestUser.$current.withValue(key.record.payload.owner, operation: body)
    }

    /// Runs requests that are for any user, such as a probe that a request of one user starts.
    package static func withRequestsForAnyUser<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        try await RequestUser.$current.withValue(nil, operation: body)
    }
}

/// An entry beside the account that cannot be opened.
package struct UnreadableEntry: Sendable {
    package let entry: ArchiveEntry
    package let error: AccountError

    /// Whether the entry is damaged, so that no key can open it. If only the key file is damaged, this is `false`,
    /// since the entry may open with the right key.
    package let isDamaged: Bool
}

extension AccountStore {
    /// Returns the entries beside the account that cannot be opened, except entries whose key is not available now.
    package func unreadableEntries() async -> [UnreadableEntry] {
        guard flows.givenToken == nil else { return [] }
        let vault = vault
        var entries: [UnreadableEntry] = []
        var isReachable = true
        func check(
            _ entry: ArchiveEntry, _ isDamaged: ([UInt8]) -> Bool, _ open: ([UInt8]) async throws -> Void
        ) async {
            guard isReachable else { return }
            var stored: [UInt8]?
            do {
                stored = try await vault.storage.read(entry)?.bytes
                if let stored { try await open(stored) }
            } catch {
                let error = AccountError(wrapping: error)
                switch error.code {
                case .noKey: break
                case .storeUnreachable, .cancelled: isReachable = false
                default:
                    let isDamaged = stored.map(isDamaged) ?? (error.code == .damaged)
                    entries.append(UnreadableEntry(entry: entry, error: error, isDamaged: isDamaged))
                }
            }
        }
        await check(.refreshRecord) { _ in
            true
        } _: { _ in
            _ = try await vault.refreshRecord()
        }
        func checkAll<Payload>(_ records: SealedRecords<Payload>) async {
            for entry in records.entries {
                await check(entry) {
                    records.context.isDamaged($0)
                } _: {
                    _ = try await records.open($0)
                }
            }
        }
        await checkAll(vault.revocations)
        await checkAll(vault.offlineKeys)
        await checkAll(vault.keptProfiles)
        return entries
    }

    package func quarantine(_ unreadable: UnreadableEntry) async throws(AccountError) {
        try await vault.change { draft in
            guard await unreadableEntries().contains(where: { $0.entry == unreadable.entry && $0.isDamaged }) else {
                return
            }
            try await draft.transaction.quarantineLeftover(unreadable.entry, because: unreadable.error, vault.logger)
        }
    }
}
