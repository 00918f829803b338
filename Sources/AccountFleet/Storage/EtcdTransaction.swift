import AccountKit
import AccountSupport
import Synchronization

/// Exclusive access to the entries of a session.
final class EtcdTransaction: ArchiveTransaction {
    private let storage: EtcdArchiveStorage
    private let lock: EtcdLock

    private let refresh: EtcdLock?

    /// A cache of the stored entries, by key: the entries at the time when the lock was acquired, with all later
    /// changes. The cache is valid only while this process holds the lock. If the cache is `nil`, read each entry from
    /// etcd.
    private let entries: Mutex<[String: EtcdKeyValue]?>

    /// Whether the next change announces a request.
    private let isAnnouncing = Atomic(false)

    /// Whether etcd may have applied a change whose response was lost.
    private let isUncertain = Atomic(false)

    init(storage: EtcdArchiveStorage, lock: EtcdLock, refresh: EtcdLock?) {
        self.storage = storage
        self.lock = lock
        self.refresh = refresh
        entries = Mutex(lock.entries.map { Dictionary($0.map { ($0.key, $0) }, uniquingKeysWith: { $1 }) })
    }

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        let stored = try await stored(entry)
        await storage.replica.note(entry, stored)
        return stored.map { StoredEntry($0) }
    }

    func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws {
        // Write a placeholder, which etcd deletes with the lock. If etcd accepts the placeholder now, it will also
        // accept the real entry later.
        let zeros = [UInt8](repeating: 0, count: byteCount)
        _ = try await commit(
            [.put(storage.key("\(EtcdLock.transactionName).reserved"), zeros, lease: lock.lease.id)], about: entry,
            if: [])
    }

    func replace(
        _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
    ) async throws -> ArchiveReceipt {
        let key = storage.key(entry.rawValue)
        var operations = [EtcdOperation.put(key, bytes)]
        // If this process is killed, other processes wait for the maximum duration of a token request.
        let isAnnounced = isAnnouncing.exchange(false, ordering: .relaxed)
        if isAnnounced, let refresh, let longer = try await refresh.longerLease() {
            operations.append(.put(refresh.key, EtcdLock.value, lease: longer.id))
        }
        let new = try await commit(
            operations, about: entry, if: [.modRevision(key, try expected(revision, entry))],
            isDone: { $0?.value == bytes })
        // The record after the announcement contains the outcome of the token request.
        if entry == .refreshRecord { refresh?.isExchanging = isAnnounced }
        await storage.replica.replace(entry, with: bytes, revision: new)
        return ArchiveReceipt(revision: ArchiveRevision(new), durability: .durable)
    }

    func announceRequest() { isAnnouncing.store(true, ordering: .relaxed) }

    func remove(_ entry: ArchiveEntry, ifRevision revision: ArchiveRevision) async throws -> ArchiveReceipt.Durability {
        let key = storage.key(entry.rawValue)
        let new = try await commit(
            [.delete(key)], about: entry, if: [.modRevision(key, try expected(revision, entry))],
            isDone: { $0 == nil })
        if entry == .refreshRecord { refresh?.isExchanging = false }
        await storage.replica.remove(entry, revision: new)
        return .durable
    }

    func quarantine(_ entry: ArchiveEntry, label: String) async throws -> String {
        let key = storage.key(entry.rawValue)
        guard let stored = try await stored(entry) else {
            throw AccountError(.conflict, "\(entry.rawValue) no longer exists, so it cannot be moved")
        }
        let place = "\(key).\(label)-\(stored.modRevision)"
        let new = try await commit(
            [.put(place, stored.value), .delete(key)], about: entry, if: [.modRevision(key, stored.modRevision)],
            isDone: { $0 == nil })
        await storage.replica.remove(entry, revision: new)
        return place
    }

    func restore(_ entry: ArchiveEntry, from place: String) async throws {
        let key = storage.key(entry.rawValue)
        guard let stored = try await storage.newest(key: place) else {
            throw AccountError(.conflict, "there is no entry at \(place) to restore")
        }
        _ = try await commit(
            [.put(key, stored.value), .delete(place)], about: entry,
            if: [.modRevision(key, 0), .modRevision(place, stored.modRevision)], isDone: { $0?.value == stored.value })
    }

    func end() async { await lock.end() }

    private func stored(_ entry: ArchiveEntry) async throws -> EtcdKeyValue? {
        if lock.lasts(for: .zero), let entries = entries.withLock({ $0 }) {
            return entries[storage.key(entry.rawValue)]
        }
        return try await storage.newest(entry)
    }

    // MARK: Changing

    private func expected(_ revision: ArchiveRevision?, _ entry: ArchiveEntry) throws -> Int64 {
        guard let revision else { return 0 }
        // A revision of another storage never matches.
        guard let number = revision.modRevision else { throw conflict(entry) }
        return number
    }

    /// Applies a change atomically if the comparisons are true and this process still holds the locks. Returns the
    /// revision of the change.
    private func commit(
        _ operations: [EtcdOperation], about entry: ArchiveEntry, if comparisons: [EtcdComparison],
        isDone: @escaping @Sendable (EtcdKeyValue?) -> Bool = { _ in false }
    ) async throws -> Int64 {
        // While the outcome is unknown, bypass the cache.
        var known = entries.withLock { $0.take() }
        let revision = try await carryOut(operations, about: entry, if: comparisons, isDone: isDone)
        for operation in operations {
            switch operation {
            case .put(let key, let value, _):
                known?[key] = EtcdKeyValue(
                    key: key, value: value, createRevision: revision, modRevision: revision, lease: 0)
            case .delete(let key): known?[key] = nil
            case .range, .entries, .touch: break
            }
        }
        entries.withLock { $0 = known }
        return revision
    }

    /// Sends a change, and repeats it if the response is lost.
    ///
    /// If etcd applied the first attempt, the second attempt finds a newer revision of the lock, which only this holder
    /// can have written. If this process lost the lock in between, `isDone` checks the entry. `isDone` also checks the
    /// entry if an earlier change may have caused the newer revision. If the entry does not contain the change, this
    /// method sends the change again.
    private func carryOut(
        _ operations: [EtcdOperation], about entry: ArchiveEntry, if comparisons: [EtcdComparison],
        isDone: @escaping @Sendable (EtcdKeyValue?) -> Bool
    ) async throws -> Int64 {
        let revision = lock.revision
        var looks: [EtcdOperation] = [.range(lock.key), .range(storage.key(entry.rawValue))]
        var fence: [EtcdComparison] = [.modRevision(lock.key, revision)]
        if let refresh {
            fence.append(.createRevision(refresh.key, refresh.createRevision))
            looks.append(.range(refresh.key))
        }
        let call = EtcdCall.transaction(
            if: fence + comparisons, then: [.touch(lock.key)] + operations, else: looks)
        let timeout = storage.timeout(.committing, of: refresh)
        // Finish the change even if the caller is cancelled.
        let wasUncertain = isUncertain.exchange(true, ordering: .relaxed)
        let reply = try await shielded { [storage] in try await storage.send(call, timeout) }
        guard let response = EtcdTransactionResponse(reply.object), response.isSuccess || response.ranges.count >= 2
        else { throw AccountError(.inaccessible, "\(storage.location) returned an unexpected response") }
        isUncertain.store(false, ordering: .relaxed)
        if response.isSuccess {
            lock.revision = response.revision
            return response.revision
        }
        let (held, stored) = (response.ranges[0].first, response.ranges[1].first)
        if let held, held.createRevision == lock.createRevision, held.modRevision > revision {
            lock.revision = held.modRevision
            if reply.isRepeated, !wasUncertain || isDone(stored) { return held.modRevision }
            return try await carryOut(operations, about: entry, if: comparisons, isDone: isDone)
        }
        let isLost = held?.createRevision != lock.createRevision
        if isLost { lock.noteLoss() }
        if reply.isRepeated, isDone(stored) { return stored?.modRevision ?? response.revision }
        if isLost { throw lost("the lock of") }
        if let refresh, response.ranges.last?.first?.createRevision != refresh.createRevision {
            refresh.noteLoss()
            throw lost("the refresh lease of")
        }
        throw conflict(entry)
    }

    private func conflict(_ entry: ArchiveEntry) -> AccountError {
        AccountError(.conflict, "another process changed \(entry.rawValue): nothing was saved; try again")
    }

    private func lost(_ what: String) -> AccountError {
        AccountError(
            .conflict,
            "\(what) \(storage.location) was lost, because this process was stopped or disconnected for too long: nothing was changed; "
                + "try again")
    }
}

/// The right to refresh the tokens of a session.
final class EtcdRefreshLease: ArchiveLease {
    private let storage: EtcdArchiveStorage
    private let lock: EtcdLock

    init(storage: EtcdArchiveStorage, lock: EtcdLock) {
        self.storage = storage
        self.lock = lock
    }

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        try await storage.beginTransaction(timeout: timeout, refresh: lock)
    }

    /// Returns whether the lease lasts for a duration, by the clock and, if etcd responds, by etcd's data. An
    /// administrator can also revoke a lease.
    func lasts(for duration: Duration) async -> Bool {
        do {
            if try await storage.newest(key: lock.key)?.createRevision != lock.createRevision { lock.noteLoss() }
        } catch {
            // Without a response, rely on the clock alone.
        }
        return isHeld(for: duration)
    }

    private func isHeld(for duration: Duration) -> Bool {
        lock.lasts(for: min(duration, EtcdArchiveStorage.longestExchange))
    }

    /// Asks etcd about the lease. The permission then compares the clock.
    func permit(for duration: Duration) async -> (@Sendable () -> Bool)? {
        guard await lasts(for: duration) else { return nil }
        return { [self] in isHeld(for: duration) }
    }

    func renewed(timeout: Duration) async throws -> any ArchiveLease {
        if await lasts(for: .zero) { return self }
        await end()
        return try await storage.acquireRefreshLease(timeout: timeout)
    }

    func end() async { await lock.end() }
}
