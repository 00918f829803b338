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
        var pending: RevocationQueue.Pending?
        // The user is signed out even if the disk is full or the queue cannot be written.
        if revokesTokens { pending = try? await transaction.queueRevocation(account, isSignOut: true) }
        do {
            try await transaction.clear(signOut, ifRevision: revision)
        } catch {
            // The user is still signed in. Even if `pending` is `nil`, the queue entry may have been written.
            if revokesTokens { try? await transaction.withdrawRevocation(account) }
            throw error
        }
        return pending
    }
}

extension AccountError {
    /// Whether the error means that the archive was reached but cannot be opened.
    package var isAboutContent: Bool {
        [.noKey, .authenticationFailed, .damaged, .unsupportedVersion].contains(code)
    }
}
