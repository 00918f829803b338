import Logging
import AccountCrypto
import AccountSupport

/// A change of a vault under the lock.
///
/// Each change compares the revision that it replaces, because a storage may lose the lock without notice.
struct VaultDraft: Sendable {
    /// The number of bytes that stay free in an archive, so that the next tokens fit even if they are longer.
    private static let headRoom = 16 * 1024

    private static let limit = ArchivePropertyList.maximumByteCount - headRoom

    let vault: Vault
    let transaction: any ArchiveTransaction

    var revocations: RevocationQueue { RevocationQueue(vault: vault, in: transaction) }
    var offlineKeys: OfflineKeys { OfflineKeys(vault: vault, in: transaction) }
    var keptProfiles: KeptProfiles { KeptProfiles(vault: vault, in: transaction) }

    var now: Date { vault.clock.now }

    // MARK: Reading

    /// Reads the account again, and publishes it. The result is current.
    func read() async -> Vault.Content {
        while true {
            let changeCount = vault.shared.changeCount
            let content = await stored()
            guard vault.shared.publish(content, readSince: changeCount) else { continue }
            await queueOrphans(beside: content)
            return content
        }
    }

    /// Returns the account; `nil` if there is none. Throws if the archive cannot be opened.
    func account() async throws(AccountError) -> Account? {
        switch await stored() {
        case .present(let account, _): return account
        case .absent: return nil
        case .unreadable(let error): throw error
        }
    }

    /// Reads the account without publishing it.
    func stored() async -> Vault.Content {
        let content = await vault.content(isLocked: true) { try await transaction.read($0) }
        // The holder of the lock sees the newest revision, so unsaved tokens for an older revision are obsolete.
        switch content {
        case .absent: vault.unsaved.orphan(unlessFor: nil)
        case .present(_, let revision): vault.unsaved.orphan(unlessFor: revision)
        case .unreadable: break
        }
        return content
    }

    func opened(_ revision: ArchiveRevision) async throws -> OpenedArchive {
        // The cached archive is sufficient, since a write compares the revision.
        if let opened = vault.memory.archive(of: revision) { return opened }
        guard let stored = try await transaction.read(.account), stored.revision == revision else {
            throw AccountError(.conflict, "another process changed the archive", hint: "try again")
        }
        return try await vault.open(stored, isInteractive: false)
    }

    // MARK: Saving

    /// Reserves space to save an account of about the stored size, before a token or code is spent. Throws `tooLarge`
    /// if longer tokens would not fit, even after ``Account/makeRoom()``.
    func prepareSave() async throws(AccountError) {
        try await step {
            // An archive that cannot be read counts as 0 bytes.
            let stored = try? await transaction.read(.account)
            if let stored, stored.bytes.count > Self.limit, let opened = vault.memory.archive(of: stored.revision) {
                var bare = opened.account
                while bare.makeRoom() {}
                _ = try vault.context.seal(bare, with: opened.keys, limit: Self.limit)
            }
            try await transaction.reserve(.account, byteCount: (stored?.bytes.count ?? 0) + 32 * 1024)
        }
    }

    /// Saves a change of the account if the stored revision is `revision`. New tokens may use the headroom. Other changes
    /// must leave the headroom free. If an archive already uses it, these changes must not enlarge the archive. All tokens
    /// of the returned account are in one piece of guarded memory.
    func save(_ account: Account, ifRevision revision: ArchiveRevision) async throws(AccountError) -> Account {
        try await step {
            // A process that was killed during a sign-out may have queued the tokens that were spent for the unsaved
            // tokens.
            if let spent = vault.unsaved.storedAccount {
                try? await revocations.withdraw(spent)
            }
            let opened = try await opened(revision)
            let (saved, receipt) = try await write(
                account, generation: opened.nextGeneration, keys: opened.keys, ifRevision: revision,
                limit: account.isSameGrant(as: opened.account) ? max(Self.limit, opened.byteCount) : nil)
            await publish(saved, receipt)
            return saved
        }
    }

    /// Saves the account of a sign-in, and removes the records of the last session. `nil` as the revision means that there
    /// is no archive. If the archive has no room for all profile fields, removes some of them, since the service can send
    /// these fields again.
    func saveSignIn(_ account: Account, ifRevision revision: ArchiveRevision?) async throws(AccountError) -> Account {
        try await step {
            let opened: OpenedArchive? = if let revision { try await opened(revision) } else { nil }
            let keys = if let opened { opened.keys } else { try await vault.ring.makeKeys(at: now) }
            var account = account
            while true {
                do {
                    let (saved, receipt) = try await write(
                        account, generation: opened?.nextGeneration ?? 1, keys: keys, ifRevision: revision,
                        limit: Self.limit)
                    await forgetLastSession(before: saved)
                    await publish(saved, receipt, isSignIn: true)
                    return saved
                } catch let error as AccountError where error.code == .tooLarge && account.makeRoom() {
                    vault.logger?.warning(
                        "the archive has no room for all data of the account", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    /// Moves aside an archive that cannot be opened, and saves the account of a sign-in in its place. Returns the new name
    /// of the archive too. If the account cannot be saved, moves the archive back.
    func saveSignInInPlaceOfUnreadable(
        _ account: Account
    ) async throws(AccountError) -> (account: Account, place: String) {
        try await step {
            let place = try await quarantine()
            vault.logger?.notice("an archive that could not be read was moved", metadata: ["to": "\(place)"])
            do {
                return (try await saveSignIn(account, ifRevision: nil), place)
            } catch {
                // If this fails, the archive keeps its new name.
                try? await transaction.restore(.account, from: place)
                throw error
            }
        }
    }

    /// Encrypts and writes an account. The caller publishes the result.
    func write(
        _ account: Account, generation: UInt64, keys: ArchiveKeys, ifRevision revision: ArchiveRevision?,
        limit: Int? = nil
    ) async throws -> (account: Account, receipt: ArchiveReceipt) {
        let (bytes, account) = try vault.context.seal(
            account, generation: generation, with: keys, limit: limit ?? ArchivePropertyList.maximumByteCount)
        let receipt = try await transaction.replace(.account, with: bytes, ifRevision: revision)
        vault.memory.replace(
            with: OpenedArchive(
                account: account, generation: generation, keys: keys, revision: receipt.revision, byteCount: bytes.count
            ))
        let kept = vault.unsaved.noteWritten(account, receipt.revision)
        // A record that is not removed does no harm.
        if kept.isOver { try? await removeRefreshRecord() }
        return (kept.account ?? account, receipt)
    }

    private func publish(_ saved: Account, _ receipt: ArchiveReceipt, isSignIn: Bool = false) async {
        vault.shared.publish(saved, isSignIn: isSignIn)
        report(receipt.durability)
        await queueOrphans(beside: .present(saved, receipt.revision))
    }

    private func report(_ durability: ArchiveReceipt.Durability) {
        guard case .unknown(let reason) = durability else { return }
        vault.logger?.warning("saved, but it may not survive a power cut", metadata: ["reason": "\(reason)"])
        vault.shared.publishUnknownDurability(reason)
    }

    /// Removes the records of the last session after a new sign-in. A record that is not removed does no harm.
    private func forgetLastSession(before saved: Account) async {
        for entry in [ArchiveEntry.signOut, .refreshRecord] {
            try? await transaction.discard(entry)
        }
        // A profile that is not removed does no harm.
        try? await keptProfiles.remove(of: saved)
        await vault.attempt(orLog: "the offline data of a signed-out user could not be removed") {
            try await offlineKeys.removeMarked()
        }
    }

    /// Queues unsaved tokens for revocation if another process, which did not have these tokens, has ended their
    /// session.
    private func queueOrphans(beside content: Vault.Content) async {
        guard vault.unsaved.mayHaveOrphans(beside: content) else { return }
        for orphan in vault.unsaved.takeOrphans() {
            // Some services accept a spent token for a while, so another process may also have refreshed the stored
            // tokens. These tokens may belong to the same grant as the orphan, even if the service revokes single
            // grants.
            if let stored = content.account, stored.isEnded(byRevoking: orphan, supportsPerGrantRevocation: false) {
                continue
            }
            let queued = await vault.attempt(orLog: "tokens could not be queued for revocation", .debug) {
                try await revocations.add(orphan)
            }
            if queued == nil { vault.unsaved.keepOrphan(orphan) }
        }
    }

    // MARK: Removing

    /// Removes the account. If the user signs out, this function also removes the key of the offline data and the
    /// profile. If the service has ended the session, both stay for the user's next sign-in.
    func clear(_ signOut: SignOut, ifRevision revision: ArchiveRevision) async throws(AccountError) {
        try await step {
            let durability =
                switch await stored().account {
                case let user? where signOut.reason == .signedOutByUser:
                    try await removeWithData(of: user, signOut, ifRevision: revision)
                case let user?: try await removeKeepingProfile(of: user, signOut, ifRevision: revision)
                case nil: try await remove(signOut, ifRevision: revision)
                }
            vault.shared.publish(signOut)
            report(durability)
            await queueOrphans(beside: .absent(signOut))
        }
    }

    private func removeWithData(
        of user: Account, _ signOut: SignOut, ifRevision revision: ArchiveRevision
    ) async throws -> ArchiveReceipt.Durability {
        // In this order, a crash neither loses data of a signed-in user, nor leaves a usable key of a signed-out user.
        // A full disk does not prevent the sign-out.
        await vault.attempt(orLog: "the key of the offline data could not be marked", .debug) {
            try await offlineKeys.markForRemoval(of: user)
        }
        // A profile of an earlier session, which a crash has left.
        try? await keptProfiles.remove(of: user)
        let durability = try await remove(signOut, ifRevision: revision)
        await vault.attempt(orLog: "the key of the offline data could not be removed", .error) {
            try await offlineKeys.remove(of: user)
        }
        return durability
    }

    private func removeKeepingProfile(
        of user: Account, _ signOut: SignOut, ifRevision revision: ArchiveRevision
    ) async throws -> ArchiveReceipt.Durability {
        let profile = await keepProfile(of: user)
        let keys = await vault.attempt(orLog: "the keys of offline data could not be read", .debug) {
            try await offlineKeys.entries(of: user)
        }
        let kept = (profile.map { [$0] } ?? []) + (keys ?? [])
        let durability = try await remove(signOut, keeping: kept, ifRevision: revision)
        // On a full disk, the removed account makes room for its profile.
        if profile == nil, let profile = await keepProfile(of: user) {
            await record(signOut, keeping: kept + [profile])
        }
        return durability
    }

    /// Removes the data that AccountKit kept when the service ended the session, because the user signs out now. The sign-out
    /// record names the entries, so this function needs no key.
    ///
    /// - Returns: Whether data was kept.
    func forgetEndedUser() async throws(AccountError) -> Bool {
        try await step {
            guard let record = try await transaction.read(.signOut) else { return false }
            let kept = SignOutRecord.kept(in: record.bytes)
            for entry in kept { try await transaction.discard(entry) }
            guard !kept.isEmpty else { return false }
            await self.record(SignOutRecord.decode(record.bytes))
            return true
        }
    }

    /// Records the reason, and then removes the account and its refresh record. In this order, a crash does not lose
    /// the reason. The reason has no effect while there is an account. If the reason cannot be written, the account is
    /// removed anyway.
    private func remove(
        _ signOut: SignOut, keeping kept: [ArchiveEntry] = [], ifRevision revision: ArchiveRevision
    ) async throws -> ArchiveReceipt.Durability {
        await record(signOut, keeping: kept)
        let durability = try await transaction.remove(.account, ifRevision: revision)
        await forgetAccount()
        return durability
    }

    private func record(_ signOut: SignOut, keeping kept: [ArchiveEntry] = []) async {
        await vault.attempt(orLog: "the reason for a sign-out could not be recorded") {
            try await SignOutRecord.write(signOut, keeping: kept, in: transaction)
        }
    }

    private func forgetAccount() async {
        vault.memory.forgetAccount()
        for slot in vault.memory.keys?.slots ?? [] where slot.kind == .passphrase {
            // A failure does no harm: the cached key expires, and no longer opens the archive.
            try? UnlockedKeys.forget(slot.keyID)
        }
        vault.unsaved.drop()
        // Without an account the record has no effect, and the next sign-in removes it.
        try? await removeRefreshRecord()
    }

    /// Records the sign-out, moves aside an archive that cannot be opened, and returns the new name of the archive.
    func quarantine(_ signOut: SignOut) async throws(AccountError) -> String {
        try await step {
            await record(signOut)
            let place = try await quarantine()
            do {
                report(try await transaction.finishQuarantine(.account))
            } catch {
                // The archive is still there, so the user is not signed out. A second name does no harm.
                try? await transaction.restore(.account, from: place)
                throw error
            }
            await forgetAccount()
            vault.logger?.notice("an archive that could not be read was moved", metadata: ["to": "\(place)"])
            vault.shared.publish(signOut)
            return place
        }
    }

    private func quarantine() async throws -> String {
        let stamp = now.formatted(
            Date.ISO8601FormatStyle(dateSeparator: .omitted, dateTimeSeparator: .standard, timeSeparator: .omitted))
        return try await transaction.quarantine(.account, label: "unreadable-\(stamp)")
    }

    /// Stores the profile of a user who did not sign out, and returns the entry; `nil` if there is none. A failure does not
    /// keep the session alive.
    @discardableResult
    func keepProfile(of user: Account) async -> ArchiveEntry? {
        await vault.attempt(orLog: "the profile could not be kept for the next sign-in") {
            try await keptProfiles.keep(user)
        } ?? nil
    }

    // MARK: Records

    /// Queues the tokens of an account for revocation. If `isSignOut` is `true`, this function also releases the tokens
    /// of the user's replaced sign-ins.
    func queueRevocation(_ account: Account, isSignOut: Bool) async throws(AccountError) -> RevocationQueue.Record {
        try await step {
            if isSignOut { await revocations.release(beside: account) }
            return try await revocations.add(account)
        }
    }

    func withdrawRevocation(_ account: Account) async throws(AccountError) {
        try await step { try await revocations.withdraw(account) }
    }

    func step<Value>(_ body: () async throws -> Value) async throws(AccountError) -> Value {
        do {
            return try await body()
        } catch {
            vault.logger?.debug("a step of the session failed", metadata: ["error": "\(error)"])
            throw AccountError(wrapping: error)
        }
    }
}

extension ArchiveTransaction {
    /// Removes an entry if it exists.
    fileprivate func discard(_ entry: ArchiveEntry) async throws {
        guard let revision = try await read(entry)?.revision else { return }
        _ = try await remove(entry, ifRevision: revision)
    }

    /// Moves aside an entry other than the account, because the entry cannot be opened.
    func quarantineLeftover(_ entry: ArchiveEntry, because error: AccountError, _ logger: Logger?) async throws {
        let place = try await quarantine(entry, label: "unreadable")
        _ = try await finishQuarantine(entry)
        logger?.notice(
            "an entry that does not open was moved aside", metadata: ["to": "\(place)", "error": "\(error)"])
    }
}
