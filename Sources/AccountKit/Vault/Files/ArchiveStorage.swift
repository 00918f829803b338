package import AccountSupport

/// A storage for archives: files of one machine, memory for tests, or a database that several machines share.
///
/// Each storage must meet these requirements, which `ArchiveStorageConformance` in `TestScene` checks:
///
/// - A read returns the bytes of a single write, and a revision that differs from the revision of any other bytes of
///   the entry.
/// - A transaction has exclusive access across tasks, processes and machines, as far as possible. The storage may lose
///   this access without notice, so each change also specifies the revision that it replaces. The change fails with
///   ``AccountError/Code-swift.struct/conflict`` if another revision is stored.
/// - A change is atomic, and is on stable storage when the call returns.
package protocol ArchiveStorage: Sendable {
    /// The name of this storage if several machines share it; `nil` if only this machine uses it.
    ///
    /// AccountKit treats a storage that has a name as shared:
    ///
    /// - It neither replaces nor removes an archive that cannot be opened here, because another machine may have the key.
    /// - It binds encrypted entries to the name. An entry that is copied to a storage with another name does not open
    ///   there. Therefore the name must not change while the storage contains an archive.
    ///
    /// A storage that wraps another storage returns the name of the wrapped storage.
    var sharedPlace: String? { get }

    /// Reads an entry without a lock and without a write.
    ///
    /// - Returns: The entry; `nil` if there is no such entry, which is not an error.
    /// - Throws: An ``AccountError`` if the entry cannot be read, or if it is unknown whether the entry exists.
    func read(_ entry: ArchiveEntry) async throws -> StoredEntry?

    /// Waits for exclusive access to all entries, until the transaction ends with ``ArchiveTransaction/end()``.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/busy`` after the timeout; another error if access is impossible.
    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction

    /// Waits for the refresh lease. The lease has one holder at a time across tasks, processes and machines, as far as
    /// possible.
    ///
    /// A refresh acquires the lease before it reads the tokens, and releases the lease after the new tokens are stored.
    /// A refresh includes the request to the service, so it holds the lease for seconds. Transactions do not wait for
    /// the lease, so a slow service does not delay reading, signing in or out, or a change of the profile. The lease
    /// ends when the process of its holder ends. If the storage cannot observe this, for example on another machine,
    /// the lease ends some time later.
    ///
    /// - Returns: The lease, which must be ended with ``ArchiveLease/end()``.
    /// - Throws: ``AccountError/Code-swift.struct/busy`` after the timeout, `CancellationError` if the task is
    ///   cancelled; another error if a lease is impossible.
    func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease

    /// Returns a stream that yields when any process may have changed an entry.
    ///
    /// An element may represent several changes or no change, so the listener must read the entry. If the storage
    /// cannot observe changes, or can no longer observe them, the stream throws an ``AccountError``. Otherwise the
    /// stream does not end.
    func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error>

    /// Returns observations about the state of the storage. This takes a few seconds at most. The function never fails,
    /// since a missing response is also an observation.
    func inspect() async -> [StorageObservation]
}

extension ArchiveStorage {
    package var sharedPlace: String? { nil }

    package func inspect() async -> [StorageObservation] { [] }
}

/// The right to refresh the tokens of a session.
package protocol ArchiveLease: Sendable {
    /// Waits for exclusive access to all entries, like ``ArchiveStorage/beginTransaction(timeout:)``.
    ///
    /// A reservation in such a transaction lasts until the lease ends. If a lease can be lost without notice, a change
    /// fails with ``AccountError/Code-swift.struct/conflict`` after another process has acquired the lease.
    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction

    /// Returns the permission to send a refresh token; `nil` if another process could acquire the lease within `duration`.
    /// AccountKit calls the permission immediately before the first byte of the token leaves the process, and sends nothing
    /// if it returns `false`.
    ///
    /// A process that was suspended may have lost a lease with a time to live, and another process may have spent the token.
    /// It may also be suspended after this function has returned, so the permission compares the holder's clock, sends
    /// nothing and does not wait. The clock must continue while the machine sleeps, and the time must count from the last
    /// request to extend the lease, not from the response.
    ///
    /// - Parameter duration: The maximum duration of the exchange.
    func permit(for duration: Duration) async -> (@Sendable () -> Bool)?

    /// Returns this lease if it is certainly still held; otherwise ends it, and waits for a new lease. AccountKit calls this
    /// after a change under the lease has failed with ``AccountError/Code-swift.struct/conflict``.
    func renewed(timeout: Duration) async throws -> any ArchiveLease

    /// Releases the lease and its reservations. Never fails.
    func end() async
}

extension ArchiveLease {
    /// Permits the request. This default is for a storage whose leases last as long as the processes that hold them.
    package func permit(for duration: Duration) async -> (@Sendable () -> Bool)? { { true } }

    /// Returns this lease. This default is for a storage whose leases last as long as the processes that hold them.
    package func renewed(timeout: Duration) async throws -> any ArchiveLease { self }
}

/// Exclusive access to a storage.
package protocol ArchiveTransaction: Sendable {
    /// Reads the current version of an entry.
    func read(_ entry: ArchiveEntry) async throws -> StoredEntry?

    /// Reserves space for up to `byteCount` bytes of an entry, to write in this or another transaction of the lease.
    ///
    /// AccountKit calls this before it spends a refresh token or code, which it could not recover after a failed write.
    func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws

    /// Announces that the next change of this transaction, to ``ArchiveEntry/refreshRecord``, precedes a request that spends
    /// the refresh token. If the process dies, no other process may send that token before the request has ended. The
    /// following change of that entry contains the outcome of the request.
    func announceRequest()

    /// Writes an entry if the stored revision is `revision`; `nil` means that there is no entry.
    ///
    /// - Returns: The new revision, and whether the change survives a power cut.
    /// - Throws: ``AccountError/Code-swift.struct/conflict`` if another revision is stored. After any error, the entry
    ///   is unchanged.
    func replace(
        _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
    ) async throws -> ArchiveReceipt

    /// Removes an entry if the stored revision is `revision`.
    ///
    /// - Returns: Whether the change survives a power cut.
    /// - Throws: ``AccountError/Code-swift.struct/conflict`` if another revision is stored.
    func remove(_ entry: ArchiveEntry, ifRevision revision: ArchiveRevision) async throws -> ArchiveReceipt.Durability

    /// Moves aside an entry that cannot be read.
    ///
    /// - Returns: The new name of the entry, for messages.
    func quarantine(_ entry: ArchiveEntry, label: String) async throws -> String

    /// Removes a quarantined entry from its old place, because no new entry replaces it.
    ///
    /// A storage may leave the entry in its old place until then, so that a crash does not look like a sign-out. For
    /// other storages, this function does nothing.
    ///
    /// - Returns: Whether the change survives a power cut.
    /// - Throws: An error if the entry is still in its old place.
    func finishQuarantine(_ entry: ArchiveEntry) async throws -> ArchiveReceipt.Durability

    /// Moves back an entry that this transaction has quarantined. `place` is the result of ``quarantine(_:label:)``.
    func restore(_ entry: ArchiveEntry, from place: String) async throws

    /// Ends the transaction and releases its reservations. Never fails: the next transaction repeats a failed clean-up.
    func end() async
}

extension ArchiveTransaction {
    /// Does nothing. This default is for a storage whose lease ends with the process that holds it.
    package func announceRequest() {}

    /// Does nothing. This default is for a storage whose ``quarantine(_:label:)`` leaves no entry in the old place.
    package func finishQuarantine(_ entry: ArchiveEntry) async throws -> ArchiveReceipt.Durability { .durable }
}

/// A stored entry of a session.
package struct ArchiveEntry: Hashable, Sendable, RawRepresentable {
    /// The name, which a file storage uses as the file name.
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// The encrypted account.
    package static let account = ArchiveEntry(rawValue: "Account.plist")

    /// The reason for the end of the last session, and its date, without personal data.
    package static let signOut = ArchiveEntry(rawValue: "SignOut.plist")

    /// The record of a refresh in progress and of failed refreshes, without personal data.
    package static let refreshRecord = ArchiveEntry(rawValue: "Refresh.plist")
}

/// The stored bytes of an entry.
package struct StoredEntry: Sendable, Hashable {
    package var bytes: [UInt8]
    package var revision: ArchiveRevision

    /// The date of the bytes if they come from a replica, because the storage is unreachable; `nil` for current bytes.
    package var asOf: Date?

    package init(bytes: [UInt8], revision: ArchiveRevision, asOf: Date? = nil) {
        self.bytes = bytes
        self.revision = revision
        self.asOf = asOf
    }
}

/// The revision of an entry. Only the storage that created a revision can interpret its bytes.
package struct ArchiveRevision: Sendable, Hashable {
    /// Opaque bytes, such as a digest, a version number or an entity tag.
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }
}

/// The result of a write.
package struct ArchiveReceipt: Sendable, Hashable {
    /// Whether a change survives a power cut.
    package enum Durability: Sendable, Hashable {
        case durable

        /// All readers see the change, but the storage did not confirm that the change survives a power cut.
        case unknown(reason: String)
    }

    package var revision: ArchiveRevision
    package var durability: Durability

    package init(revision: ArchiveRevision, durability: Durability) {
        self.revision = revision
        self.durability = durability
    }
}

/// A fact about the state of a storage, for `status` and `doctor`.
package struct StorageObservation: Sendable, Hashable, Encodable {
    /// The subject in one or two words, such as `Member`.
    package var label: String

    package var text: String

    package var advice: String?

    package init(_ label: String, _ text: String, advice: String? = nil) {
        self.label = label
        self.text = text
        self.advice = advice
    }
}
