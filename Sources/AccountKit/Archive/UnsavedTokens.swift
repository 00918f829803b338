import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// New tokens that could not be saved: this process knows them, and no other does.
///
/// As long as the tokens that were spent for them are stored, they are the account's. Once they never will be, since their
/// sign-in is over, they are orphans, which the service is to revoke.
final class UnsavedTokens: Sendable {
    private struct Kept {
        var account: Account

        /// Whose tokens are stored, and were spent for them, or for those that were spent for them.
        var stored: Account

        /// Whose tokens were spent for them: the stored ones, or others that could not be saved either.
        var spent: Account
        var revision: ArchiveRevision

        /// Whether they are being spent themselves, so that the record of the intent is about them.
        var isBeingSpent = false

        /// Whether a holder of the lock has read these in place of the spent ones, and so saves, queues or revokes them itself.
        var isSeenUnderLock = false

        /// Another account with these tokens in place of its own.
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

        /// Drops the kept tokens: they have just been saved, or were replaced, or nobody is signed in any more. If no holder of
        /// the lock has read them, nobody can have saved or queued them, so they become orphans.
        mutating func drop() {
            if let kept = kept.take(), !kept.isSeenUnderLock { orphans.append(kept.account) }
        }
    }

    private let state = Mutex(State())

    /// The account as it is stored: its tokens were spent for those kept here, directly or in several steps. `nil` if none are
    /// kept.
    var storedAccount: Account? { state.withLock { $0.kept?.stored } }

    func keep(_ account: Account, inPlaceOf spent: Account, ifRevision revision: ArchiveRevision) {
        state.withLock { state in
            // Those that were spent may have been unsaved themselves.
            let stored = state.kept.map { $0.account.isSameGrant(as: spent) ? $0.stored : spent }
            state.kept = Kept(account: account, stored: stored ?? spent, spent: spent, revision: revision)
        }
    }

    /// Whether there are any, and the last try to save them was not a moment ago: where the disk is full, those who look often
    /// would keep others from the lock.
    func isTimeToSave(at date: Date) -> Bool {
        state.withLock { state in
            guard state.kept != nil else { return false }
            if let last = state.lastAttempt, (0..<1).contains(date.timeIntervalSince(last)) { return false }
            state.lastAttempt = date
            return true
        }
    }

    func markSpending() { state.withLock { $0.kept?.isBeingSpent = true } }

    /// The account with them, if this is the revision that they are to replace.
    func account(for revision: ArchiveRevision, isLocked: Bool) -> Account? {
        state.withLock { state in
            guard state.kept?.revision == revision else { return nil }
            if isLocked { state.kept?.isSeenUnderLock = true }
            return state.kept?.account
        }
    }

    /// The stored account with them, if another process has changed something else of it.
    func merged(into stored: Account, _ revision: ArchiveRevision, isLocked: Bool) -> Account {
        state.withLock { state in
            guard let kept = state.kept, kept.stored.isSameGrant(as: stored) else { return stored }
            let account = kept.credentials(for: stored)
            // Without the lock there may be a newer one by now.
            if isLocked {
                state.kept!.account = account
                state.kept!.revision = revision
                state.kept!.isSeenUnderLock = true
            }
            return account
        }
    }

    /// To be called after an account has been written.
    ///
    /// - Returns: `isOver` if the kept tokens were saved or replaced, so that the refresh record can go. `account` if the writer
    ///   wrote the spent tokens once more, having read them before the refresh: what was written, with the kept tokens.
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

    /// Whoever holds the lock has found something else: another process has signed the user out or somebody in. They are
    /// good at the service all the same.
    ///
    /// - Parameter revision: What is stored; `nil` if nothing is.
    func orphan(unlessFor revision: ArchiveRevision?) {
        state.withLock { state in
            guard let kept = state.kept, kept.revision != revision else { return }
            state.kept = nil
            state.orphans.append(kept.account)
        }
    }

    func keepOrphan(_ orphan: Account) { state.withLock { $0.orphans.append(orphan) } }

    /// Whether there are tokens that the service is to revoke, as far as can be told by a read without the lock.
    func mayHaveOrphans(beside content: AccountArchive.Content) -> Bool {
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
