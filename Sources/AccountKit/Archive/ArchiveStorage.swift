#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Where archives are kept: a file for one machine, memory for tests, or an engine that several machines share.
///
/// The port is small so that each of these can keep its promises:
///
/// - A read gives whole bytes that were written together, and a revision that no other bytes of the entry have.
/// - A transaction has exclusive access across tasks, processes and machines, as far as it can be had. Since it can be
///   lost unnoticed, each change also names the revision that it replaces, and fails with
///   ``AccountError/Code-swift.struct/conflict`` if that is not the stored one.
/// - A change is all or nothing, and is on stable storage when the call returns.
///
/// `ArchiveStorageConformance` in `AccountTesting` checks them.
public protocol ArchiveStorage: Sendable {
    /// The name of this place in a store that several machines share; `nil` if only this machine uses the storage.
    ///
    /// AccountKit treats a storage that has a name as shared:
    ///
    /// - It neither replaces nor removes an archive that does not open here, because another machine may have the key.
    ///   ``AccountStore/replacingUnreadableArchive()`` is the exception.
    /// - It binds the name into what it seals. An entry that is copied to a place with another name does not open there.
    ///   The name must therefore stay the same for as long as an archive is there.
    ///
    /// A storage that stands before another one returns the name of that one.
    var sharedPlace: String? { get }

    /// Reads an entry, without a lock and without writing anything.
    ///
    /// - Returns: `nil` if there is none, which is not an error.
    /// - Throws: An ``AccountError``, if it could not be found out whether there is one, or what it is.
    func read(_ entry: ArchiveEntry) async throws -> StoredEntry?

    /// Waits for exclusive access to all entries.
    ///
    /// - Parameter timeout: How long to wait.
    /// - Returns: The transaction, which must be ended with ``ArchiveTransaction/end()``.
    /// - Throws: ``AccountError/Code-swift.struct/busy`` after that time; others if there can be no access.
    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction

    /// Waits for the lease of a refresh: one holder at a time, across tasks, processes and machines, as far as it can be had.
    ///
    /// A refresh holds it from before it reads the tokens until their successors are stored, requests to the service
    /// included, so for seconds. Transactions do not wait for it: who signs in or out, changes the profile or reads is not held up by
    /// a service that is slow. The lease ends with the process that holds it, or where that cannot be seen, such as on another
    /// machine, some time later.
    ///
    /// - Parameter timeout: How long to wait.
    /// - Returns: The lease, which must be ended with ``ArchiveLease/end()``.
    /// - Throws: ``AccountError/Code-swift.struct/busy`` after that time, `CancellationError` if the task is cancelled
    ///   meanwhile, others if there can be no lease.
    func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease

    /// Tells when an entry may have changed, whoever changed it, until nobody listens any more.
    ///
    /// Several changes may be told as one, and one that did not change anything may be told too: who listens reads. The stream
    /// fails, with an ``AccountError`` that says why, when changes cannot be told or cannot be told any more; it does not
    /// just end.
    func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error>
}

extension ArchiveStorage {
    /// Only this machine uses the storage.
    public var sharedPlace: String? { nil }
}

/// The right to refresh the tokens of a session.
public protocol ArchiveLease: Sendable {
    /// Waits for exclusive access to all entries, as ``ArchiveStorage/beginTransaction(timeout:)``.
    ///
    /// What is reserved in such a transaction stays reserved until the lease ends. Where a lease can be lost unnoticed, a
    /// change fails with ``AccountError/Code-swift.struct/conflict`` once it is another's.
    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction

    /// Whether nobody else gets the lease for so long, even if nothing more is heard of its holder.
    ///
    /// Asked just before a refresh token is sent: a process that was suspended since it took the lease may have lost it, and
    /// another may have spent the token. A storage whose leases last for a time goes by a clock that goes on while a machine
    /// sleeps, and counts from when it last asked for more time, not from when it was told that it has it.
    ///
    /// - Parameter duration: As long as the exchange may take.
    func lasts(for duration: Duration) async -> Bool

    /// Whether the holder's own clock says that the lease lasts for so long. Sends nothing, and does not wait.
    ///
    /// AccountKit calls this immediately before the first byte of a refresh token leaves the process. A process can be stopped
    /// after ``lasts(for:)`` has returned; when it goes on, its clock tells.
    ///
    /// - Parameter duration: As long as the exchange may take.
    func isHeld(for duration: Duration) -> Bool

    /// Gives up the lease and what was reserved under it. Never fails.
    func end() async
}

extension ArchiveLease {
    /// For a storage whose leases last as long as the processes that hold them.
    public func lasts(for duration: Duration) async -> Bool { true }

    /// For a storage whose leases last as long as the processes that hold them.
    public func isHeld(for duration: Duration) -> Bool { true }
}

/// Exclusive access to a storage.
public protocol ArchiveTransaction: Sendable {
    /// Reads an entry as it is now.
    func read(_ entry: ArchiveEntry) async throws -> StoredEntry?

    /// Makes sure that an entry of up to `byteCount` bytes can be written later in this transaction, or in another one of
    /// the same lease, and changes nothing.
    ///
    /// Done before something is spent that could not be had again if the write failed, such as a refresh token.
    func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws

    /// Writes an entry, if its revision still is `revision`; `nil` means that there is none.
    ///
    /// - Returns: The new revision, and whether the change is known to survive a power cut.
    /// - Throws: ``AccountError/Code-swift.struct/conflict`` if it is another revision. After any error the entry is as
    ///   it was.
    func replace(
        _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
    ) async throws -> ArchiveReceipt

    /// Removes an entry, if its revision still is `revision`.
    ///
    /// - Returns: Whether the change is known to survive a power cut.
    /// - Throws: ``AccountError/Code-swift.struct/conflict`` if it is another revision.
    func remove(_ entry: ArchiveEntry, ifRevision revision: ArchiveRevision) async throws -> ArchiveReceipt.Durability

    /// Puts an entry that cannot be read out of the way, without losing it.
    ///
    /// - Returns: Where it is now, for a person.
    func quarantine(_ entry: ArchiveEntry, label: String) async throws -> String

    /// Makes sure that an entry that was quarantined is not in its place any more, because nothing is to come there.
    ///
    /// A storage that leaves it there till something does, so that a death in between does not look like a sign-out, removes
    /// it now; for others there is nothing to do.
    ///
    /// - Returns: Whether the change is known to survive a power cut.
    /// - Throws: If it is still there.
    func finishQuarantine(_ entry: ArchiveEntry) async throws -> ArchiveReceipt.Durability

    /// Restores an entry that this transaction has quarantined, because nothing came to take its place.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - place: Where it is, as ``quarantine(_:label:)`` said.
    func restore(_ entry: ArchiveEntry, from place: String) async throws

    /// Gives up access and what was reserved. Never fails: what cannot be tidied up is tidied up next time.
    func end() async
}

extension ArchiveTransaction {
    /// For a storage whose ``quarantine(_:label:)`` leaves nothing in the place.
    public func finishQuarantine(_ entry: ArchiveEntry) async throws -> ArchiveReceipt.Durability { .durable }
}

/// One of the things that are stored for a session.
public struct ArchiveEntry: Hashable, Sendable, RawRepresentable {
    /// The name, which a file storage uses as the file's.
    public let rawValue: String

    /// An entry by its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The account, sealed.
    public static let account = ArchiveEntry(rawValue: "Account.plist")

    /// Why and when the last session ended; nothing personal.
    public static let signOut = ArchiveEntry(rawValue: "SignOut.plist")

    /// That a refresh token is being spent, and how refreshes failed; nothing personal.
    public static let refreshRecord = ArchiveEntry(rawValue: "Refresh.plist")

    /// A session that is being moved here, sealed, until it takes the place of the account.
    public static let incoming = ArchiveEntry(rawValue: "Incoming.plist")
}

/// What a storage has for an entry.
public struct StoredEntry: Sendable, Hashable {
    /// The bytes.
    public var bytes: [UInt8]

    /// The revision that these bytes are.
    public var revision: ArchiveRevision

    /// When it was last known to be the stored one, for bytes that come from a replica since the storage itself cannot be
    /// reached; `nil` for those that are stored now.
    public var asOf: Date?

    /// Creates an entry.
    public init(bytes: [UInt8], revision: ArchiveRevision, asOf: Date? = nil) {
        self.bytes = bytes
        self.revision = revision
        self.asOf = asOf
    }
}

/// Tells one state of an entry from all others. Only the storage that made it knows what is in it.
public struct ArchiveRevision: Sendable, Hashable {
    /// Opaque bytes: a digest, a version number, an entity tag.
    public let bytes: [UInt8]

    /// A revision of a storage's own making.
    public init(bytes: [UInt8]) { self.bytes = bytes }
}

/// What a storage says after a write.
public struct ArchiveReceipt: Sendable, Hashable {
    /// Whether a change is known to survive a power cut.
    public enum Durability: Sendable, Hashable {
        /// It survives.
        case durable

        /// Everyone sees the change, but the storage did not confirm that it survives.
        case unknown(reason: String)
    }

    /// The revision of the bytes that were written.
    public var revision: ArchiveRevision

    /// Whether they are known to survive a power cut.
    public var durability: Durability

    /// Creates a receipt.
    public init(revision: ArchiveRevision, durability: Durability) {
        self.revision = revision
        self.durability = durability
    }
}
