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
        guard givenToken == nil else { return [] }
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
            _ = try await vault.journal.record()
        }
        func checkAll<Payload>(_ records: SealedRecords<Payload>) async {
            for entry in records.entries {
                await check(entry) {
                    records.codec.isDamaged($0)
                } _: {
                    _ = try await records.open($0)
                }
            }
        }
        await checkAll(vault.revocations.records)
        await checkAll(vault.offlineKeys.records)
        await checkAll(vault.keptProfiles.records)
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
