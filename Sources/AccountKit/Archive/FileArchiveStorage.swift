import Synchronization

/// Archives as files of one folder, safe against crashes, full disks, other processes and planted links.
///
/// A write goes to a new file beside the old one, reaches the disk, and takes the old one's place in one step (rename(2));
/// then the folder reaches the disk. So there is always the old or the new entry, whole. Whoever writes holds the lock on
/// `Account.lock`, which the kernel drops when a process dies; the lock file itself is never removed, since removing one
/// that others wait for would let two in.
///
/// The folder is made with mode 0700 when something is first written. A folder that belongs to someone else, or that
/// others can write to, is refused.
public struct FileArchiveStorage: ArchiveStorage {
    package static let lockName = "Account.lock"
    package static let leaseName = "Refresh.lock"

    private let directory: ArchiveDirectory

    /// The storage of a session in a container.
    public init(container: AppContainer, session: SessionName = .default) {
        directory = container.folder(container.directory(of: session))
    }

    /// The storage of a folder in a container, for other small things than archives, with the same care.
    package init(folder: String, in container: AppContainer) {
        directory = container.folder(folder)
    }

    /// The storage of one document of the app's own, `<name>.plist`, under a lock of its own, `<name>.lock`.
    ///
    /// What the account keeps in the same folder is left alone, and nobody who signs in waits for the app.
    ///
    /// - Parameter name: Without a dot.
    package init(document name: String, folder: String, root: String, maximumByteCount: Int) {
        directory = ArchiveDirectory(
            path: folder, root: root, contents: .document(name: name, maximumByteCount: maximumByteCount))
    }

    package func isLeftover(_ name: String) -> Bool { directory.isLeftover(name) }

    /// Refuses a folder that another user could have changed.
    package func checkTrust() throws(AccountError) { try directory.checkTrust() }

    /// Reads an entry, without a lock and without writing anything.
    public func read(_ entry: ArchiveEntry) throws(AccountError) -> StoredEntry? {
        try directory.checkTrust()
        return try directory.read(entry)
    }

    /// Takes the lock of the folder, and makes the folder first if it is not there.
    public func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        FileArchiveTransaction(
            directory: directory, lock: try await lock(directory.lockName, timeout: timeout),
            reservation: Reservation(),
            isLeased: false)
    }

    /// Takes the lock of `Refresh.lock`, which the kernel drops when a process dies.
    public func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease {
        FileArchiveLease(storage: self, lock: try await lock(Self.leaseName, timeout: timeout))
    }

    /// Waits for the lock on a file of the folder.
    ///
    /// The kernel has no queue for such locks, so they are asked for again and again, first after 1 ms, at last every
    /// 25 ms.
    fileprivate func lock(_ name: String, timeout: Duration) async throws -> FileLock {
        try directory.checkTrust()
        try await makeDirectory()
        let lockPath = directory.path(name)
        let lock = try mapping(lockPath) { () throws(SystemCallError) in try FileLock(lockPath) }
        let deadline = ContinuousClock.now.advanced(by: timeout)
        var pause = Duration.milliseconds(1)
        while try !mapping(lockPath, { () throws(SystemCallError) in try lock.tryTake() }) {
            guard ContinuousClock.now < deadline else {
                throw AccountError(
                    .busy,
                    "another process has been using \(directory.path) for more than \(timeout.text): try again, or look "
                        + "for a process that hangs (`fuser \(lockPath)` names it)")
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(25))
        }
        return lock
    }

    fileprivate func beginTransaction(
        timeout: Duration, reservation: Reservation
    ) async throws -> FileArchiveTransaction {
        FileArchiveTransaction(
            directory: directory, lock: try await lock(directory.lockName, timeout: timeout), reservation: reservation,
            isLeased: true)
    }

    private func makeDirectory() async throws(AccountError) {
        if try directory.exists(with: directory.lockName) { return }
        try await BlockingWork.run { () throws(AccountError) in try directory.make(before: directory.lockName) }
    }

    /// Tells when the file of an entry was put in place, written to or removed.
    ///
    /// A folder that is not there yet is made, since one that does not exist cannot be watched.
    public func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> {
        // If the folder cannot be made, or must not be, the watch polls for the file.
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

    /// A file that cannot be removed now is removed by the next writer.
    func discard() { try? take()?.discard() }
}

/// The right to refresh: the open lock file, and a file that was made ready for the new tokens.
private final class FileArchiveLease: ArchiveLease {
    private let storage: FileArchiveStorage
    private let reservation = Reservation()
    private let lock: Mutex<FileLock?>

    init(storage: FileArchiveStorage, lock: consuming FileLock) {
        self.storage = storage
        self.lock = Mutex(lock)
    }

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        try await storage.beginTransaction(timeout: timeout, reservation: reservation)
    }

    func end() async {
        reservation.discard()
        lock.withLock { $0 = nil }
    }
}

private final class FileArchiveTransaction: ArchiveTransaction {
    private struct State: ~Copyable {
        var lock: FileLock?

        /// What was quarantined and is still in its place, so that a death here does not look like a sign-out: as good as
        /// gone for whoever has this transaction.
        var quarantined: [ArchiveEntry: FileIdentity] = [:]

        /// What was read under the lock: who compares a revision with what is there now need not hash that.
        var seen: [ArchiveEntry: StoredEntry] = [:]
    }

    private let directory: ArchiveDirectory
    private let state: Mutex<State>
    private let reservation: Reservation

    /// Whether the reservation is a lease's, and outlives the transaction.
    private let isLeased: Bool

    init(directory: ArchiveDirectory, lock: consuming FileLock, reservation: Reservation, isLeased: Bool) {
        self.directory = directory
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
        let (directory, reservation, isLeased) = (directory, reservation, isLeased)
        try await BlockingWork.run { () throws(AccountError) in
            reservation.discard()
            reservation.put(try directory.makeTemporary(for: entry, reserving: byteCount, isLeased: isLeased))
        }
    }

    func replace(
        _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
    ) async throws -> ArchiveReceipt {
        try await check(entry, is: revision)
        return try await BlockingWork.run { [directory, reservation] () throws(AccountError) in
            guard let reserved = reservation.take() else {
                return try directory.makeTemporary(for: entry, reserving: nil).commit(bytes)
            }
            if reserved.entry == entry { return try reserved.commit(bytes) }
            // What was reserved for another entry stays reserved, whatever becomes of this one.
            let keptPath = reserved.path
            reservation.put(reserved)
            return try directory.makeTemporary(for: entry, reserving: nil, keeping: keptPath).commit(bytes)
        }
    }

    func remove(_ entry: ArchiveEntry, ifRevision revision: ArchiveRevision) async throws -> ArchiveReceipt.Durability {
        try await check(entry, is: revision)
        return try await BlockingWork.run { [directory] in try directory.remove(entry) }
    }

    func quarantine(_ entry: ArchiveEntry, label: String) async throws -> String {
        let place = try await BlockingWork.run { [directory] in try directory.quarantine(entry, label: label) }
        let identity = try identity(of: entry)
        state.withLock { $0.quarantined[entry] = identity }
        return place
    }

    func finishQuarantine(_ entry: ArchiveEntry) async throws -> ArchiveReceipt.Durability {
        guard try isQuarantined(entry) else { return .durable }
        let durability = try await BlockingWork.run { [directory] in try directory.remove(entry) }
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
        // What cannot be looked at stays too.
        for entry in state.withLock({ $0.quarantined.keys }) where (try? isQuarantined(entry)) == true {
            // Nothing took its place. If it cannot be removed it stays, as unreadable as before, and a copy is in quarantine.
            _ = try? await BlockingWork.run { [directory] in try directory.remove(entry) }
        }
        if !isLeased { reservation.discard() }
        state.withLock { $0.lock = nil }
    }
}
