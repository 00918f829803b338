#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Removes the account because the user signs out. Afterwards the caller revokes the tokens at the service.
///
/// Under the lock:
///
/// 1. Read the account.
/// 2. Queue its tokens for revocation, so that a crash does not lose them.
/// 3. Remove the account.
struct SignOutFlow: Sendable {
    enum Ended: Sendable {
        case nobody

        /// The account that was signed out, and the entry of its tokens in the queue; `nil` if they could not be queued.
        case account(Account, RevocationQueue.Pending?)

        /// The archive did not open, and was moved aside.
        case quarantined(place: String)
    }

    let signOut: SignOut

    /// Whether to revoke the tokens at the service, now or later.
    let revokesTokens: Bool

    /// Whether an archive that does not open stays where it is, because other machines may open it.
    var keepsUnreadable = false

    func run(_ effects: any SessionEffects) async -> Result<Ended, AccountError> {
        do throws(AccountError) {
            return try await effects.withTransaction { transaction in await end(in: transaction) }
        } catch {
            return .failure(error)
        }
    }

    private func end(in transaction: any SessionTransaction) async -> Result<Ended, AccountError> {
        do throws(AccountError) {
            switch await transaction.load() {
            case .absent: return .success(.nobody)
            case .present(let account, let revision):
                return .success(.account(account, try await remove(account, revision, transaction)))
            // An archive that cannot be reached cannot be moved either.
            case .unreadable(let error):
                guard error.isAboutContent, !keepsUnreadable else { throw error }
                return .success(.quarantined(place: try await transaction.quarantine(signOut)))
            }
        } catch {
            return .failure(error)
        }
    }

    private func remove(
        _ account: Account, _ revision: ArchiveRevision, _ transaction: any SessionTransaction
    ) async throws(AccountError) -> RevocationQueue.Pending? {
        if let move = account.move {
            // The service would end the session at its new place. Until a move is complete, the tokens wait there.
            guard move.isComplete || !revokesTokens else { throw AccountError(move) }
            try await transaction.clear(signOut, ifRevision: revision)
            return nil
        }
        guard revokesTokens else {
            try await transaction.clear(signOut, ifRevision: revision)
            return nil
        }
        // The user is signed out even if the disk is full or the queue cannot be written.
        let pending = try? await transaction.queueRevocation(account, isSignOut: true)
        do {
            try await transaction.clear(signOut, ifRevision: revision)
        } catch {
            // The account is still signed in, so its tokens must not be revoked later. The write may have failed after the entry was
            // written.
            try? await transaction.withdrawRevocation(account)
            throw error
        }
        return pending
    }
}

extension AccountError {
    /// Whether the archive was reached, but does not open.
    package var isAboutContent: Bool {
        [.noKey, .authenticationFailed, .damaged, .unsupportedVersion].contains(code)
    }
}
