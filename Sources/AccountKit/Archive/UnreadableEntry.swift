/// An entry beside the account that does not open.
package struct UnreadableEntry: Sendable {
    package let entry: ArchiveEntry
    package let error: AccountError

    /// Whether no key can open it.
    package var isDamaged: Bool { error.code == .damaged }
}

extension AccountStore {
    /// Entries beside the account that do not open, except those that need a key that is not available now.
    package func unreadableEntries() async -> [UnreadableEntry] {
        guard givenToken == nil else { return [] }
        let archive = driver.archive
        var entries: [UnreadableEntry] = []
        var isReachable = true
        func check(_ entry: ArchiveEntry, _ open: () async throws -> Void) async {
            guard isReachable else { return }
            do {
                try await open()
            } catch {
                let error = AccountError(wrapping: error)
                switch error.code {
                case .noKey: break
                case .storeUnreachable, .cancelled: isReachable = false
                default: entries.append(UnreadableEntry(entry: entry, error: error))
                }
            }
        }
        await check(.incoming) { _ = try await archive.incoming { try await archive.storage.read($0) } }
        await check(.refreshRecord) { _ = try await archive.journal.record() }
        for records in [driver.revocations.records, driver.offlineKeys.records] {
            for place in records.places {
                await check(place) {
                    if let stored = try await archive.storage.read(place) { _ = try await records.open(stored.bytes) }
                }
            }
        }
        return entries
    }

    /// Moves a damaged entry aside, unless another process has replaced it since.
    package func quarantine(_ unreadable: UnreadableEntry) async throws(AccountError) {
        try await driver.withTransaction { transaction in
            guard await unreadableEntries().contains(where: { $0.entry == unreadable.entry && $0.isDamaged }) else {
                return
            }
            try await transaction.quarantineLeftover(unreadable.entry, because: unreadable.error, driver.logger)
        }
    }

    /// Whether the move that brought the session here has left its copy.
    package func hasMoveLeftover() async throws -> Bool {
        guard let transfer = await driver.load().account?.transfer, transfer.role == .arrived else { return false }
        let archive = driver.archive
        return try await archive.incoming { try await archive.storage.read($0) }?.transfer.id == transfer.id
    }

    /// Removes the copy that the move that brought the session here has left.
    package func removeMoveLeftover() async throws(AccountError) {
        try await driver.withTransaction { transaction in
            guard let account = await driver.load(transaction).account else { return }
            try await driver.discardLeftover(of: account, in: transaction)
        }
    }
}
