import Synchronization

/// New tokens that could not be saved: this process knows them, and no other does.
extension AccountArchive {
    struct Unsaved {
        var account: Account

        /// Whose tokens are stored, and were spent for them.
        var stored: Account

        /// The revision that has those.
        var revision: ArchiveRevision

        /// Whether they are being spent themselves, so that the record of the intent is about them.
        var isBeingSpent = false

        /// Whether those who had the lock since have found these, and not those that were spent for them.
        var isSeenUnderLock = false
    }

    /// The tokens that were spent for new ones that could not be saved.
    var spentForUnsaved: Account? { unsaved.withLock { $0?.stored } }

    /// Remembers new tokens whose save failed: as long as those that were spent for them are stored, they are the account's.
    func keepUnsaved(_ account: Account, inPlaceOf spent: Account, ifRevision revision: ArchiveRevision) {
        unsaved.withLock { unsaved in
            // Those that were spent may have been unsaved themselves.
            let stored = unsaved.map { $0.account.isSameGrant(as: spent) ? $0.stored : spent }
            unsaved = Unsaved(account: account, stored: stored ?? spent, revision: revision)
        }
    }

    /// The account with them, if this is what they are to replace.
    func unsavedAccount(for revision: ArchiveRevision, isLocked: Bool) -> Account? {
        unsaved.withLock { unsaved in
            guard unsaved?.revision == revision else { return nil }
            if isLocked { unsaved?.isSeenUnderLock = true }
            return unsaved?.account
        }
    }

    /// Others have taken their place, or nobody is signed in any more. Who did that has seen to them, or did not know them yet.
    func give(up unsaved: inout Unsaved?) {
        if let kept = unsaved.take(), !kept.isSeenUnderLock { keepOrphan(kept.account) }
    }

    /// Another process has signed the user out or somebody in, for whoever holds the lock. The tokens are good at the service
    /// all the same.
    ///
    /// - Parameter revision: What is stored; `nil` if nothing is.
    func orphanUnsaved(unlessFor revision: ArchiveRevision? = nil) {
        let orphan = unsaved.withLock { unsaved in
            unsaved?.revision == revision ? nil : unsaved.take()?.account
        }
        if let orphan { keepOrphan(orphan) }
    }

    /// Remembers tokens that the service is to revoke, and that are in no queue.
    func keepOrphan(_ orphan: Account) { orphans.withLock { $0.append(orphan) } }

    /// Whether there are tokens that the service is to revoke, as far as can be told by a read without the lock.
    func mayHaveOrphans(beside content: Content) -> Bool {
        if case .unreadable = content { return false }
        if orphans.withLock({ !$0.isEmpty }) { return true }
        guard let unsaved = unsaved.withLock({ $0?.account }) else { return false }
        return content.account?.isSameGrant(as: unsaved) != true
    }

    /// Takes them, for whoever puts them into the queue of revocations.
    func takeOrphans() -> [Account] {
        orphans.withLock { orphans in
            defer { orphans = [] }
            return orphans
        }
    }
}
