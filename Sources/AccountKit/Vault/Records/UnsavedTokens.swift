import AccountSupport
import Synchronization

/// New tokens that could not be saved, so that only this process has them. While the spent tokens are still stored, the
/// new tokens belong to the account. After the end of their session, the new tokens are orphans, which AccountKit
/// revokes.
final class UnsavedTokens: Sendable {
    private struct Kept {
        var account: Account

        /// The stored account, whose tokens were spent for the new tokens, directly or in several steps.
        var stored: Account

        /// The account whose tokens were spent last: the stored account, or an earlier unsaved account.
        var spent: Account
        var revision: ArchiveRevision

        /// Whether a refresh is spending the new tokens. If so, the record of the intent is about these tokens.
        var isBeingSpent = false

        /// Whether a holder of the lock has read the new tokens. If so, that holder saves, queues or revokes them.
        var isSeenUnderLock = false

        func credentials(for other: Account) -> Account {
            var account = other
            account.credentials = self.account.credentials
            account.verifiedAt = self.account.verifiedAt
            return account
        }
    }

    private struct State {
        var kept: Kept?
        var lastAttempt: Date?
        var orphans: [Account] = []

        /// Drops tokens that were saved or replaced, or whose user has signed out. If no holder of the lock has read
        /// them, they cannot have been saved or queued, so they become orphans.
        mutating func drop() {
            if let kept = kept.take(), !kept.isSeenUnderLock { orphans.append(kept.account) }
        }
    }

    private let state = Mutex(State())

    var storedAccount: Account? { state.withLock { $0.kept?.stored } }

    func keep(_ account: Account, inPlaceOf spent: Account, ifRevision revision: ArchiveRevision) {
        state.withLock { state in
            // The spent tokens may have been unsaved too.
            let stored = state.kept.map { $0.account.isSameGrant(as: spent) ? $0.stored : spent }
            state.kept = Kept(account: account, stored: stored ?? spent, spent: spent, revision: revision)
        }
    }

    /// Returns whether to try to save the tokens now: at most once a second, since more attempts on a full disk would
    /// keep other processes from the lock.
    func isTimeToSave(at date: Date) -> Bool {
        state.withLock { state in
            guard state.kept != nil else { return false }
            if let last = state.lastAttempt, (0..<1).contains(date.timeIntervalSince(last)) { return false }
            state.lastAttempt = date
            return true
        }
    }

    func markSpending() { state.withLock { $0.kept?.isBeingSpent = true } }

    func account(for revision: ArchiveRevision, isLocked: Bool) -> Account? {
        state.withLock { state in
            guard state.kept?.revision == revision else { return nil }
            if isLocked { state.kept?.isSeenUnderLock = true }
            return state.kept?.account
        }
    }

    /// Returns the stored account with the unsaved tokens if another process has only changed other parts of the
    /// account; otherwise the stored account.
    func merged(into stored: Account, _ revision: ArchiveRevision, isLocked: Bool) -> Account {
        state.withLock { state in
            guard let kept = state.kept, kept.stored.isSameGrant(as: stored) else { return stored }
            let account = kept.credentials(for: stored)
            // Without the lock there may be a newer revision.
            if isLocked {
                state.kept!.account = account
                state.kept!.revision = revision
                state.kept!.isSeenUnderLock = true
            }
            return account
        }
    }

    /// Returns whether the unsaved tokens were saved or replaced, so that the refresh record can be removed. If the
    /// writer wrote the spent tokens again, returns the written account with the unsaved tokens.
    func noteWritten(_ account: Account, _ revision: ArchiveRevision) -> (isOver: Bool, account: Account?) {
        state.withLock { state in
            guard let kept = state.kept else { return (false, nil) }
            guard kept.stored.isSameGrant(as: account) || kept.spent.isSameGrant(as: account) else {
                state.drop()
                return (!kept.isBeingSpent, nil)
            }
            let merged = kept.credentials(for: account)
            state.kept!.account = merged
            state.kept!.stored = account
            state.kept!.revision = revision
            return (false, merged)
        }
    }

    func drop() { state.withLock { $0.drop() } }

    /// Makes the tokens orphans if their session has ended, since the service still accepts them. Requires the lock.
    func orphan(unlessFor revision: ArchiveRevision?) {
        state.withLock { state in
            guard let kept = state.kept, kept.revision != revision else { return }
            state.kept = nil
            state.orphans.append(kept.account)
        }
    }

    func keepOrphan(_ orphan: Account) { state.withLock { $0.orphans.append(orphan) } }

    func mayHaveOrphans(beside content: Vault.Content) -> Bool {
        if case .unreadable = content { return false }
        return state.withLock { state in
            if !state.orphans.isEmpty { return true }
            guard let kept = state.kept else { return false }
            return content.account?.isSameGrant(as: kept.account) != true
        }
    }

    func takeOrphans() -> [Account] {
        state.withLock { state in
            defer { state.orphans = [] }
            return state.orphans
        }
    }
}
