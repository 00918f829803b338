#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Removes the account because the user signs out. The flow first queues the tokens for revocation, so that a crash
/// does not lose the tokens.
struct SignOutFlow: Sendable {
    enum Ended: Sendable {
        case nobody

        /// The account that was signed out, and the queue entry of its tokens; `nil` if the tokens were not queued.
        case account(Account, RevocationQueue.Pending?)

        case quarantined(place: String)
    }

    let signOut: SignOut

    let revokesTokens: Bool

    var keepsUnreadable = false

    func run(_ vault: any FlowVault) async -> Result<Ended, AccountError> {
        do throws(AccountError) {
            return try await vault.change(.usual) { draft in await end(in: draft) }
        } catch {
            return .failure(error)
        }
    }

    private func end(in draft: any FlowDraft) async -> Result<Ended, AccountError> {
        do throws(AccountError) {
            switch await draft.read() {
            case .absent: return .success(.nobody)
            case .present(let account, let revision):
                return .success(.account(account, try await remove(account, revision, draft)))
            // An archive that cannot be reached cannot be moved either.
            case .unreadable(let error):
                guard error.isAboutContent, !keepsUnreadable else { throw error }
                return .success(.quarantined(place: try await draft.quarantine(signOut)))
            }
        } catch {
            return .failure(error)
        }
    }

    private func remove(
        _ account: Account, _ revision: ArchiveRevision, _ draft: any FlowDraft
    ) async throws(AccountError) -> RevocationQueue.Pending? {
        var pending: RevocationQueue.Pending?
        // The user is signed out even if the disk is full or the queue cannot be written.
        if revokesTokens { pending = try? await draft.queueRevocation(account, isSignOut: true) }
        do {
            try await draft.clear(signOut, ifRevision: revision)
        } catch {
            // The user is still signed in. Even if `pending` is `nil`, the queue entry may have been written.
            if revokesTokens { try? await draft.withdrawRevocation(account) }
            throw error
        }
        return pending
    }
}
