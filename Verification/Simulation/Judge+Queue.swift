import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The rules for the revocation queue, and for tokens that no process has.
extension Judge {
    func queueChanged(_ entry: ArchiveEntry, _ turn: Turn) {
        let old = queue[entry]
        queue[entry] = readQueue(entry)
        if let new = queue[entry] {
            // Entries with older tokens may be withdrawn again.
            if world.service.isNewest(new.tokens) {
                turn.process.inHand.remove(new.tokens.grant)
            }
            if old?.tokens == new.tokens, old?.waitsForSignOut == new.waitsForSignOut {
                world.coverage.count(.revocationPaused)
            }
            if new.waitsForSignOut { world.coverage.count(.revocationWaits) }
            if let old, old.tokens == new.tokens, old.waitsForSignOut, !new.waitsForSignOut {
                // A sign-in releases entries before it replaces the account. If its process then dies, the user is still signed in.
                if !isStored(old.tokens.grant) { mustEnd.insert(old.tokens.grant) }
                world.coverage.count(.revocationReleased)
            }
        }
        guard let old, old.tokens != queue[entry]?.tokens else { return }
        let grant = old.tokens.grant
        if queue[entry] != nil {
            // The queue was full.
            excuse(grant)
        } else if world.date.timeIntervalSince(old.revocation.date) > 30 * 24 * 3600 {
            excuse(grant)
        }
    }

    /// The service received a revocation, and processed it.
    func told(_ tokens: Tokens, _ operation: Operation?) {
        told.insert(tokens.grant)
        if !world.service.isAlive(tokens.grant) {
            for process in world.processes { process.inHand.remove(tokens.grant) }
        }
        world.coverage.count(.revoked)
        if replaced.contains(tokens.grant) { world.coverage.count(.replacedRevoked) }
        if world.processes.contains(where: { $0.unsaved.contains(tokens) }) { world.coverage.count(.unsavedRevoked) }
        guard let operation else { return }
        if operation.kind.isRefreshing { world.coverage.count(.lateTokensRevoked) }
        if operation.obtained == tokens { world.coverage.count(.unstoredRevoked) }
    }

    /// The service refused a revocation.
    func answered(_ failure: AuthorityError, toRevocationOf tokens: Tokens) {
        switch failure {
        case .rejected, .oauthError("unsupported_token_type", _):
            refusals[tokens, default: 0] += 1
            if refusals[tokens]! >= 3 {
                excuse(tokens.grant)
                world.coverage.count(.revocationGivenUp)
            }
        default: break
        }
    }

    func excuse(_ grant: Int) { excusedGrants.insert(grant) }

    /// The disk failed during an operation, or did not respond.
    func hindered(_ operation: Operation?) {
        wasHindered = true
        guard let operation else { return }
        excusedGrants.formUnion(operation.responsible)
    }

    /// Whether an entry of the queue is kept until the user signs out.
    private func isWaiting(_ queued: QueuedTokens) -> Bool {
        if queued.waitsForSignOut { return true }
        guard let stored = versions.last!.account else { return false }
        return !world.weather.supportsPerGrantRevocation
            && (queued.account.id.isEmpty || world.service.isSameUser(stored.tokens.grant, queued.tokens.grant))
    }

    /// Checks that tokens are valid at the service only if a process or an archive has them.
    func checkWhatIsLeft() {
        // While the archive cannot be read, nothing is revoked.
        guard !world.weather.canLockBeLost, !versions.last!.isUnreadable else { return }
        if let left = queue.values.filter({ !isWaiting($0) }).min(by: { $0.token < $1.token }) {
            violate(.signOutReachesTheService, "in the end \(left.token) is still in the queue of revocations")
        }
        guard [.single, .all].contains(world.service.revoking) else { return }
        let waiting = Set(queue.values.filter(isWaiting).map(\.tokens.grant))
        for grant in mustEnd.sorted() where !told.contains(grant) && !excusedGrants.contains(grant) {
            guard world.service.isAlive(grant), !waiting.contains(grant) else { continue }
            violate(.signOutReachesTheService, "in the end the service does not know that a\(grant) is signed out")
        }
        for grant in world.service.grants.indices.dropFirst() where world.service.isAlive(grant) {
            guard versions.last!.account?.tokens.grant != grant, !excusedGrants.contains(grant),
                !waiting.contains(grant)
            else { continue }
            violate(.nothingIsLeftBehind, "in the end a\(grant) is valid, and no process has it")
        }
    }
}
