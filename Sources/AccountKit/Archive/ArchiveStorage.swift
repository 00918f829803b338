#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A storage for archives: files of one machine, memory for tests, or a database that several machines share.
///
/// Each storage must meet these requirements, which `ArchiveStorageConformance` in `AccountTesting` checks:
///
/// - A read returns the bytes of a single write, and a revision that belongs to no other bytes of the entry.
/// - A transaction has exclusive access across tasks, processes and machines, as far as possible. Access may be lost
///   without notice, so each change also names the revision that it replaces. The change fails with
///   ``AccountError/Code-swift.struct/conflict`` if another revision is stored.
/// - A change is all or nothing, and is on stable storage when the call returns.
public protocol ArchiveStorage: Sendable {
    /// The name of this storage if several machines share it; `nil` if only this machine uses it.
    ///
    /// AccountKit treats a storage that has a name as shared:
    ///
    /// - It neither replaces nor removes an archive that does not open here, because another machine may have the key.
    /// - It binds encrypted entries to the name. An entry that is copied to a storage with another name does not open
    ///   there. So the name must not change while there is an archive.
    ///
    /// A storage that wraps another one returns the name of that one.
    var sharedPlace: String? { get }

    /// Reads an entry without a lock and without a write.
    ///
    /// - Returns: `nil` if there is no such entry, which is not an error.
    /// - Throws: An ``AccountError`` if the entry cannot be read, or if it is unknown whether there is one.
    func read(_ entry: ArchiveEntry) async throws -> StoredEntry?

    /// Waits for exclusive access to all entries.
    ///
    /// - Parameter timeout: How long to wait.
    /// - Returns: The transaction, which must be ended with ``ArchiveTransaction/end()``.
    /// - Throws: ``AccountError/Code-swift.struct/busy`` after the timeout; others if access is impossible.
    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction

    /// Waits for the refresh lease. It has one holder at a time across tasks, processes and machines, as far as
    /// possible.
    ///
    /// A refresh holds the lease from before it reads the tokens until the new tokens are stored, including the request
    /// to the service, so for seconds. Transactions do not wait for the lease, so a slow service does not delay
    /// reading, signing in or out, or a change of the profile. The lease ends with the process of its holder, or if
    /// that cannot be observed, such as on another machine, some time later.
    ///
    /// - Parameter timeout: How long to wait.
    /// - Returns: The lease, which must be ended with ``ArchiveLease/end()``.
    /// - Throws: ``AccountError/Code-swift.struct/busy`` after the timeout, `CancellationError` if the task is
    ///   cancelled; others if a lease is impossible.
    func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease

    /// Returns a stream that yields when any process may have changed an entry.
    ///
    /// An element may stand for several changes or for none, so the listener reads the entry. If changes cannot be
    /// observed, or no longer, the stream fails with an ``AccountError``. It does not end otherwise.
    func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error>
}

extension ArchiveStorage {
    /// Returns `nil`: by default, only this machine uses the storage.
    public var sharedPlace: String? { nil }
}

/// The right to refresh the tokens of a session.
public protocol ArchiveLease: Sendable {
    /// Waits for exclusive access to all entries, like ``ArchiveStorage/beginTransaction(timeout:)``.
    ///
    /// A reservation in such a transaction lasts until the lease ends. If a lease can be lost without notice, a change
    /// fails with ``AccountError/Code-swift.struct/conflict`` after another process has acquired it.
    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction

    /// Whether no other process can acquire the lease for `duration`, even if its holder does not extend it.
    ///
    /// AccountKit calls this before it sends a refresh token: a process that was suspended may have lost the lease, and
    /// another may have spent the token. A storage with a time to live uses a clock that continues while the machine
    /// sleeps, and counts from its last request for more time, not from the response.
    ///
    /// - Parameter duration: How long the exchange may take.
    func lasts(for duration: Duration) async -> Bool

    /// Whether the lease lasts for `duration` according to the holder's clock. It sends nothing and does not wait.
    ///
    /// AccountKit calls this immediately before the first byte of a refresh token leaves the process. A process may be
    /// suspended after ``lasts(for:)`` has returned, and its clock notices that.
    ///
    /// - Parameter duration: How long the exchange may take.
    func isHeld(for duration: Duration) -> Bool

    /// Releases the lease and its reservations. Never fails.
    func end() async
}

extension ArchiveLease {
    /// Returns `true`, for a storage whose leases last as long as the processes that hold them.
    public func lasts(for duration: Duration) async -> Bool { true }

    /// Returns `true`, for a storage whose leases last as long as the processes that hold them.
    public func isHeld(for duration: Duration) -> Bool { true }
}

/// Exclusive access to a storage.
public protocol ArchiveTransaction: Sendable {
    /// Reads an entry as it is now.
    func read(_ entry: ArchiveEntry) async throws -> StoredEntry?

    /// Reserves space for up to `byteCount` bytes of an entry, to write in this or another transaction of the lease.
    ///
    /// AccountKit calls this before it spends a refresh token or code, which it could not recover after a failed write.
    func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws

    /// Writes an entry if the stored revision is `revision`; `nil` means that there is no entry.
    ///
    /// - Returns: The new revision, and whether the change survives a power cut.
    /// - Throws: ``AccountError/Code-swift.struct/conflict`` if another revision is stored. Any error leaves the entry
    ///   unchanged.
    func replace(
        _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
    ) async throws -> ArchiveReceipt

    /// Removes an entry if the stored revision is `revision`.
    ///
    /// - Returns: Whether the change survives a power cut.
    /// - Throws: ``AccountError/Code-swift.struct/conflict`` if another revision is stored.
    func remove(_ entry: ArchiveEntry, ifRevision revision: ArchiveRevision) async throws -> ArchiveReceipt.Durability

    /// Moves an entry that cannot be read aside.
    ///
    /// - Returns: The new name of the entry, for messages.
    func quarantine(_ entry: ArchiveEntry, label: String) async throws -> String

    /// Removes a quarantined entry from its old place, because no new entry replaces it.
    ///
    /// A storage may leave the entry in its old place until then, so that a crash does not look like a sign-out. Other
    /// storages do nothing here.
    ///
    /// - Returns: Whether the change survives a power cut.
    /// - Throws: An error if the entry is still in its old place.
    func finishQuarantine(_ entry: ArchiveEntry) async throws -> ArchiveReceipt.Durability

    /// Moves an entry back that this transaction has quarantined.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - place: Its new name, from ``quarantine(_:label:)``.
    func restore(_ entry: ArchiveEntry, from place: String) async throws

    /// Ends the transaction and releases its reservations. Never fails: the next transaction repeats a failed clean-up.
    func end() async
}

extension ArchiveTransaction {
    /// Does nothing, for a storage whose ``quarantine(_:label:)`` leaves nothing in the old place.
    public func finishQuarantine(_ entry: ArchiveEntry) async throws -> ArchiveReceipt.Durability { .durable }
}

/// A stored entry of a session.
public struct ArchiveEntry: Hashable, Sendable, RawRepresentable {
    /// The name, which a file storage uses as the file name.
    public let rawValue: String

    /// Creates an entry with a name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The encrypted account.
    package static let account = ArchiveEntry(rawValue: "Account.plist")

    /// Why and when the last session ended, without personal data.
    package static let signOut = ArchiveEntry(rawValue: "SignOut.plist")

    /// The record of a refresh in progress and of failed refreshes, without personal data.
    package static let refreshRecord = ArchiveEntry(rawValue: "Refresh.plist")

    /// An encrypted session during its move to this storage.
    package static let incoming = ArchiveEntry(rawValue: "Incoming.plist")
}

/// The stored bytes of an entry.
public struct StoredEntry: Sendable, Hashable {
    /// The stored content.
    public var bytes: [UInt8]

    /// The revision of the bytes.
    public var revision: ArchiveRevision

    /// The date of the bytes if they come from a replica, because the storage is unreachable; `nil` for current bytes.
    public var asOf: Date?

    /// Creates an entry.
    public init(bytes: [UInt8], revision: ArchiveRevision, asOf: Date? = nil) {
        self.bytes = bytes
        self.revision = revision
        self.asOf = asOf
    }
}

/// The revision of an entry. Its bytes have a meaning only for the storage that created it.
public struct ArchiveRevision: Sendable, Hashable {
    /// Opaque bytes: a digest, a version number, an entity tag.
    public let bytes: [UInt8]

    /// Creates a revision.
    public init(bytes: [UInt8]) { self.bytes = bytes }
}

/// The result of a write.
public struct ArchiveReceipt: Sendable, Hashable {
    /// Whether a change survives a power cut.
    public enum Durability: Sendable, Hashable {
        /// The change survives.
        case durable

        /// All readers see the change, but the storage did not confirm that it survives.
        case unknown(reason: String)
    }

    /// The revision of the bytes that were written.
    public var revision: ArchiveRevision

    /// Whether the bytes survive a power cut.
    public var durability: Durability

    /// Creates a receipt.
    public init(revision: ArchiveRevision, durability: Durability) {
        self.revision = revision
        self.durability = durability
    }
}
