import AccountSupport
import Synchronization

/// Stores archives as files in a folder. The storage is safe against crashes, full disks, other processes and planted
/// links.
///
/// A write creates a new file beside the old one, synchronizes it, and replaces the old one in one step (rename(2)).
/// Then the write synchronizes the folder. At any time there is therefore either the complete old entry or the complete
/// new entry. A writer holds the lock on `Account.lock`, which the kernel releases when the process dies. The lock file
/// is never removed, since two processes could then hold the lock.
///
/// The first write creates the folder with mode 0700. The storage refuses a folder that another user owns or can write
/// to.
package struct FileArchiveStorage: ArchiveStorage {
    package static let lockName = "Account.lock"
    package static let leaseName = "Refresh.lock"

    private let directory: ArchiveDirectory

    /// The session, and the index that contains the session while its folder has certain entries. For other folders,
    /// `nil`.
    private let indexed: (session: SessionName, index: SessionIndex)?

    var archivePath: String { directory.path(ArchiveEntry.account.rawValue) }

    /// Creates the storage of a session in a container. The storage maintains `index`.
    init(container: AppContainer, session: SessionName, index: SessionIndex) {
        directory = container.folder(container.directory(of: session))
        indexed = (session, index)
    }

    /// Creates the storage of a folder in a container, for small files other than archives.
    package init(folder: String, in container: AppContainer) {
        directory = container.folder(folder)
        indexed = nil
    }

    /// Creates the storage of one document of the app, `<name>.plist`, with its own lock, `<name>.lock`, so that a
    /// sign-in does not wait for changes of the document. The name must not contain a dot.
    package init(document name: String, folder: String, root: String, maximumByteCount: Int) {
        directory = ArchiveDirectory(
            path: folder, root: root, contents: .document(name: name, maximumByteCount: maximumByteCount))
        indexed = nil
    }

    package func isLeftover(_ name: String) -> Bool { directory.isLeftover(name) }

    package func checkTrust() throws(AccountError) { try directory.checkTrust() }

    /// Reads an entry without a lock and without a write.
    package func read(_ entry: ArchiveEntry) throws(AccountError) -> StoredEntry? {
        try directory.checkTrust()
        return try directory.read(entry)
    }

    /// Creates the folder if it is missing, and then acquires the lock of the folder.
    package func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        try await beginTransaction(timeout: timeout, leased: nil)
    }

    /// Acquires the lock on `Refresh.lock`, which the kernel releases when the process dies.
    package func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease {
        FileArchiveLease(storage: self, lock: try await lock(Self.leaseName, timeout: timeout))
    }

    /// Acquires a file lock. The kernel has no queue for these locks, so this function tries again: first after 1 ms,
    /// finally every 25 ms.
    fileprivate func lock(_ name: String, timeout: Duration) async throws -> FileLock {
        let lockPath = directory.path(name)
        let lock = try await openLock(at: lockPath)
        let deadline = ContinuousClock.now.advanced(by: timeout)
        var pause = Duration.milliseconds(1)
        while try !mapping(lockPath, { () throws(SystemCallError) in try lock.tryTake() }) {
            guard ContinuousClock.now < deadline else {
                throw AccountError(
                    .busy,
                    "another process has been using \(directory.path) for more than \(timeout.text)",
                    hint: "try again, or look for a process that hangs (`fuser \(lockPath)` names it)")
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(25))
        }
        return lock
    }

    /// Tries to acquire a lock of the folder without waiting.
    ///
    /// - Parameter isShared: Whether several processes can hold the lock at a time.
    /// - Returns: `nil` if another process holds a lock that excludes this one.
    func tryLock(_ name: String, isShared: Bool) async throws -> FileLock? {
        let path = directory.path(name)
        let lock = try await openLock(at: path)
        guard try mapping(path, { () throws(SystemCallError) in try lock.tryTake(isShared: isShared) }) else {
            return nil
        }
        return lock
    }

    private func openLock(at path: String) async throws -> FileLock {
        try directory.checkTrust()
        try await makeDirectory()
        return try mapping(path) { () throws(SystemCallError) in try FileLock(path) }
    }

    fileprivate func beginTransaction(
        timeout: Duration, leased reservation: Reservation?
    ) async throws -> FileArchiveTransaction {
        FileArchiveTransaction(
            directory: directory, indexed: indexed, lock: try await lock(directory.lockName, timeout: timeout),
            reservation: reservation ?? Reservation(), isLeased: reservation != nil)
    }

    private func makeDirectory() async throws(AccountError) {
        if try directory.exists(with: directory.lockName) { return }
        try await BlockingWork.run { () throws(AccountError) in try directory.make(before: directory.lockName) }
    }

    /// Returns a stream that yields when the file of an entry was created, replaced, written to or removed.
    ///
    /// The function creates a missing folder, since only an existing folder can be watched.
    package func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> {
        // If the folder cannot be created, the watch polls for the file.
        try? directory.make(before: directory.lockName)
        return DirectoryWatch.changes(of: entry.rawValue, in: directory.path)
    }
}

private final class Reservation: Sendable {
    private let file = Mutex<TemporaryFile?>(nil)

    func take() -> TemporaryFile? { file.withLock { $0.take() } }

    func put(_ reserved: consuming TemporaryFile) {
        var reserved: TemporaryFile? = reserved
        file.withLock { $0 = reserved.take() }
    }

    /// Removes the reserved file. If this fails, the next writer removes the file.
    func discard() { try? take()?.discard() }
}

private final class FileArchiveLease: ArchiveLease {
    private let storage: FileArchiveStorage
    private let reservation = Reservation()
    private let lock: Mutex<FileLock?>

    init(storage: FileArchiveStorage, lock: consuming FileLock) {
        self.storage = storage
        self.lock = Mutex(lock)
    }

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        try await storage.beginTransaction(timeout: timeout, leased: reservation)
    }

    func end() async {
        reservation.discard()
        lock.withLock { $0 = nil }
    }
}

private final class FileArchiveTransaction: ArchiveTransaction {
    private struct State: ~Copyable {
        var lock: FileLock?

        /// Quarantined entries that stay in place, so that a crash does not look like a sign-out. For this transaction,
        /// these entries count as removed.
        var quarantined: [ArchiveEntry: FileIdentity] = [:]

        /// Entries that were read under the lock, so that comparing a revision does not hash them again.
        var seen: [ArchiveEntry: StoredEntry] = [:]

        /// Whether this transaction has removed the files that a crash left behind. Later, the folder contains its own.
        var hasRemovedLeftovers = false
    }

    private let directory: ArchiveDirectory
    private let indexed: (session: SessionName, index: SessionIndex)?
    private let state: Mutex<State>
    private let reservation: Reservation

    /// Whether the reservation belongs to a lease, so that it outlives the transaction.
    private let isLeased: Bool

    init(
        directory: ArchiveDirectory, indexed: (session: SessionName, index: SessionIndex)?, lock: consuming FileLock,
        reservation: Reservation, isLeased: Bool
    ) {
        self.directory = directory
        self.indexed = indexed
        self.reservation = reservation
        self.isLeased = isLeased
        state = Mutex(State(lock: lock))
    }

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        guard try !isQuarantined(entry), let stored = try directory.read(entry) else { return nil }
        state.withLock { $0.seen[entry] = stored }
        return stored
    }

    private func check(_ entry: ArchiveEntry, is revision: ArchiveRevision?) async throws {
        if let seen = state.withLock({ $0.seen[entry] }), seen.revision == revision, try !isQuarantined(entry),
            let bytes = try directory.bytes(of: entry), bytes.isSame(as: seen.bytes)
        {
            return
        }
        guard try await read(entry)?.revision == revision else { throw directory.conflict(entry) }
    }

    private func isQuarantined(_ entry: ArchiveEntry) throws -> Bool {
        guard let identity = state.withLock({ $0.quarantined[entry] }) else { return false }
        return try self.identity(of: entry) == identity
    }

    private func identity(of entry: ArchiveEntry) throws -> FileIdentity? {
        let path = directory.path(entry.rawValue)
        return try mapping(path) { () throws(SystemCallError) in try SystemCall.identity(path) }
    }

    func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws {
        try await BlockingWork.run { () throws(AccountError) in
            self.reservation.discard()
            self.reservation.put(
                try self.makeTemporary(for: entry, reserving: byteCount, isLeased: self.isLeased))
        }
    }

    private func makeTemporary(
        for entry: ArchiveEntry, reserving byteCount: Int? = nil, isLeased: Bool = false
    ) throws(AccountError) -> TemporaryFile {
        let hasRemovedLeftovers = state.withLock { state in
            defer { state.hasRemovedLeftovers = true }
            return state.hasRemovedLeftovers
        }
        if !hasRemovedLeftovers { try directory.removeLeftovers(isLeased: isLeased) }
        return try directory.makeTemporary(for: entry, reserving: byteCount, isLeased: isLeased)
    }

    func replace(
        _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
    ) async throws -> ArchiveReceipt {
        try await check(entry, is: revision)
        return try await BlockingWork.run { [indexed, reservation] () throws(AccountError) in
            if let indexed, indexed.index.contains(entry) {
                // If this fails, only commands that search the folders of all sessions find the entry.
                try? indexed.index.insert(indexed.session)
            }
            guard let reserved = reservation.take() else { return try self.makeTemporary(for: entry).commit(bytes) }
            if reserved.entry == entry { return try reserved.commit(bytes) }
            reservation.put(reserved)
            return try self.makeTemporary(for: entry).commit(bytes)
        }
    }

    func remove(_ entry: ArchiveEntry, ifRevision revision: ArchiveRevision) async throws -> ArchiveReceipt.Durability {
        try await check(entry, is: revision)
        return try await remove(entry)
    }

    private func remove(_ entry: ArchiveEntry) async throws -> ArchiveReceipt.Durability {
        try await BlockingWork.run { [directory, indexed] () throws(AccountError) in
            let durability = try directory.remove(entry)
            if let indexed, indexed.index.contains(entry) {
                // If this fails, other commands only open one more folder.
                try? indexed.index.removeIfEmpty(indexed.session)
            }
            return durability
        }
    }

    func quarantine(_ entry: ArchiveEntry, label: String) async throws -> String {
        let place = try await BlockingWork.run { [directory] in try directory.quarantine(entry, label: label) }
        let identity = try identity(of: entry)
        state.withLock { $0.quarantined[entry] = identity }
        return place
    }

    func finishQuarantine(_ entry: ArchiveEntry) async throws -> ArchiveReceipt.Durability {
        guard try isQuarantined(entry) else { return .durable }
        let durability = try await remove(entry)
        state.withLock { $0.quarantined[entry] = nil }
        return durability
    }

    func restore(_ entry: ArchiveEntry, from place: String) async throws {
        let isInPlace = try isQuarantined(entry)
        state.withLock { $0.quarantined[entry] = nil }
        if isInPlace {
            try mapping(place) { () throws(SystemCallError) in _ = try SystemCall.remove(place) }
        } else {
            try await BlockingWork.run { [directory] in try directory.restore(entry, from: place) }
        }
    }

    func end() async {
        // An entry that cannot be read stays too.
        for entry in state.withLock({ $0.quarantined.keys }) where (try? isQuarantined(entry)) == true {
            // No new entry replaced the file. If the file cannot be removed, it stays unreadable, with a copy in
            // quarantine.
            _ = try? await remove(entry)
        }
        if !isLeased { reservation.discard() }
        state.withLock { $0.lock = nil }
    }
}
