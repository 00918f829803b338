import AccountKit
import Synchronization

/// Exclusive access to the entries of a session.
final class EtcdTransaction: ArchiveTransaction {
    private let storage: EtcdArchiveStorage
    private let lock: EtcdLock

    /// The lease of a refresh, if it is a transaction of one.
    private let refresh: EtcdLock?

    /// What is stored, by key, as long as nobody else can have changed it: what came with the lock, and what was changed
    /// since. `nil` if each entry is to be read.
    private let entries: Mutex<[String: EtcdKeyValue]?>

    /// Whether a change may have been carried out of whose end nothing was heard.
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
        // It goes with the lock. What etcd has room for and allows now, it will in a moment.
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
        // With the intent the exchange begins: whoever dies in it is waited for as long as it may take.
        if entry == .refreshRecord, let refresh, let longer = try await storage.longerLease(of: refresh) {
            operations.append(.put(refresh.key, EtcdLock.value, lease: longer.id))
        }
        let isIntent = operations.count > 1
        let new = try await commit(
            operations, about: entry, if: [.modRevision(key, try expected(revision, entry))],
            isDone: { $0?.value == bytes })
        // What is written after the intent is what came of it.
        if entry == .refreshRecord { refresh?.isExchanging = isIntent }
        await storage.replica.replace(entry, with: bytes, revision: new)
        return ArchiveReceipt(revision: ArchiveRevision(new), durability: .durable)
    }

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
            throw AccountError(.conflict, "there is no \(entry.rawValue) any more that could be moved")
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
            throw AccountError(.conflict, "there is nothing at \(place) that could be restored")
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
        // It is of another storage, so it is not the stored one.
        guard let number = revision.modRevision else { throw conflict(entry) }
        return number
    }

    /// Makes a change in one step, if the entries are what they should be and the locks are still held.
    ///
    /// - Returns: The revision of the change.
    private func commit(
        _ operations: [EtcdOperation], about entry: ArchiveEntry, if comparisons: [EtcdComparison],
        isDone: @escaping @Sendable (EtcdKeyValue?) -> Bool = { _ in false }
    ) async throws -> Int64 {
        // As long as it is not known what came of it, each entry is to be read.
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

    /// A call of whose response nothing was heard is made again. If the first was carried out after all, the second finds the
    /// lock at a newer revision, which nobody else could have given it; where the lock was lost meanwhile, `isDone` looks
    /// at the entry. So it does where an earlier change may have done that: if this one was not made, it is made now.
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
        // What was begun is finished, whoever gives up waiting.
        let wasUncertain = isUncertain.exchange(true, ordering: .relaxed)
        let reply = try await shielded { [storage] in try await storage.send(call, timeout) }
        guard let response = EtcdTransactionResponse(reply.object), response.isSuccess || response.ranges.count >= 2
        else { throw AccountError(.inaccessible, "\(storage.location) gave an unexpected response") }
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
            throw lost("the right to refresh")
        }
        throw conflict(entry)
    }

    private func conflict(_ entry: ArchiveEntry) -> AccountError {
        AccountError(.conflict, "\(entry.rawValue) was changed meanwhile: nothing was changed; try again")
    }

    private func lost(_ what: String) -> AccountError {
        AccountError(
            .conflict,
            "\(what) \(storage.location) was lost, since this process was stopped or cut off for too long: nothing was changed; "
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

    /// By the clock, and by what etcd says, where it responds: an administrator can take a lease away too.
    func lasts(for duration: Duration) async -> Bool {
        do {
            if try await storage.newest(key: lock.key)?.createRevision != lock.createRevision { lock.noteLoss() }
        } catch {
            // Then the clock alone says it.
        }
        return isHeld(for: duration)
    }

    func isHeld(for duration: Duration) -> Bool {
        lock.lasts(for: min(duration, EtcdArchiveStorage.longestExchange))
    }

    func end() async { await lock.end() }
}
