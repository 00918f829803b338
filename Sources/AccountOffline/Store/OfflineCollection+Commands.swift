#if Offline
package import AccountKit
package import AccountSupport

extension OfflineCollection: SynchronizableStorage {
    package func unsentChanges() async throws(AccountError) -> [UnsentChange] {
        try await pendingChanges().map { pending in
            UnsentChange(
                id: pending.id, kind: pending.change.kind.rawValue, item: pending.change.object,
                state: pending.state.rawValue, attempts: pending.attempts, lastProblem: pending.lastProblem,
                needsDecision: pending.state.needsDecision, waitsForSignIn: pending.state == .waitingForSignIn)
        }
    }

    package func sendChanges(
        onProgress: @escaping @Sendable (_ sent: Int, _ left: Int) -> Void
    ) async throws(AccountError) -> (sentCount: Int, problem: AccountError?) {
        let report = try await synchronize(ignoringBackOff: true, onProgress: onProgress)
        var problem = report.problem
        for list in try await storedLists() where problem == nil {
            problem = try await refresh(list.name, limit: 1).problem
        }
        await close()
        return (report.sentCount, problem)
    }

    package func resolve(
        _ id: UUID, keepingMine: Bool
    ) async throws(AccountError) -> (isFound: Bool, problem: AccountError?) {
        guard let pending = try await pendingChanges().first(where: { $0.id == id }) else { return (false, nil) }
        // The user may drop any change, such as one that a proxy never lets through.
        guard pending.state.needsDecision || !keepingMine else {
            throw AccountError(
                .invalidArgument, "this change needs no decision: the next synchronization sends it",
                hint: "to drop it, use --theirs")
        }
        guard try await keepingMine ? keep(id) : discard(id) else { return (false, nil) }
        guard !keepingMine else { return (true, nil) }
        do {
            try await refreshItem(pending.change.object)
        } catch  where error.code == .requestRefused {
            // The item was deleted at the service, so it is no longer stored here either.
        } catch {
            return (true, error)
        }
        return (true, nil)
    }
}
#endif
