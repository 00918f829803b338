import AccountKit
import AccountSupport
import Logging

/// An encrypted local copy of the account as this machine last read or wrote it, for reads while the store is
/// unreachable. AccountKit removes the replica when the store no longer has the account.
struct Replica: Sendable {
    /// The age in seconds at which AccountKit writes an unchanged replica again with a new date.
    private static let interval: TimeInterval = 300

    private let storage: FileArchiveStorage
    private let location: String
    private let clock: any WallClock
    private let logger: Logger?

    init(
        of location: EtcdLocation, container: AppContainer, session: SessionName,
        clock: any WallClock = SystemWallClock(), logger: Logger?
    ) {
        storage = FileArchiveStorage(
            folder: container.cachesPath + "/Store/" + session.rawValue, in: container)
        self.location = location.description
        self.clock = clock
        self.logger = logger
    }

    func read(_ entry: ArchiveEntry) -> StoredEntry? {
        guard entry == .account, let content = content else { return nil }
        return StoredEntry(
            bytes: content.bytes, revision: ArchiveRevision(content.revision), asOf: content.date)
    }

    func note(_ entry: ArchiveEntry, _ stored: EtcdKeyValue?) async {
        guard entry == .account else { return }
        guard let stored else { return await remove(entry, revision: .max) }
        if let content, content.revision == stored.modRevision,
            (0..<Self.interval).contains(clock.now.timeIntervalSince(content.date))
        {
            return
        }
        await replace(entry, with: stored.value, revision: stored.modRevision)
    }

    func replace(_ entry: ArchiveEntry, with bytes: [UInt8], revision: Int64) async {
        guard entry == .account else { return }
        let content = ReplicaContent(location: location, revision: revision, date: clock.now, bytes: bytes)
        await change { transaction, stored in
            // Ignore an older revision within a minute, because it comes from a slow read. Later, an older revision
            // comes from a store that was restored from a backup.
            if let old = ReplicaContent(stored?.bytes), old.location == location, old.revision > revision,
                abs(content.date.timeIntervalSince(old.date)) < 60
            {
                return
            }
            _ = try await transaction.replace(entry, with: content.encoded, ifRevision: stored?.revision)
        }
    }

    /// - Parameter revision: The revision at which the account was removed or missing. This method keeps a newer
    ///   replica.
    func remove(_ entry: ArchiveEntry, revision: Int64) async {
        // Don't create a folder if there is no replica.
        guard entry == .account, content != nil else { return }
        await change { transaction, stored in
            guard let stored, ReplicaContent(stored.bytes).map({ $0.revision <= revision }) ?? true else { return }
            _ = try await transaction.remove(entry, ifRevision: stored.revision)
        }
    }

    private var content: ReplicaContent? {
        // Treat an unreadable replica as missing.
        guard let content = ReplicaContent((try? storage.read(.account))?.bytes), content.location == location else {
            return nil
        }
        return content
    }

    /// Changes the replica. This method only logs an error, because the store has the account.
    private func change(
        _ body: @escaping @Sendable (any ArchiveTransaction, StoredEntry?) async throws -> Void
    ) async {
        do {
            try await storage.withTransaction(timeout: .seconds(1)) { transaction in
                try await body(transaction, try await transaction.read(.account))
            }
        } catch {
            logger?.debug("the replica could not be changed", metadata: ["error": "\(error)"])
        }
    }
}

/// The content of a replica's file: the length of the location (2 bytes), the location, the revision and the seconds
/// since 1970 (8 bytes each, all big-endian), and the entry.
struct ReplicaContent: Sendable, Hashable {
    var location: String
    var revision: Int64

    /// The date of the replica, in whole seconds.
    var date: Date
    var bytes: [UInt8]
}

extension ReplicaContent {
    init?(_ file: [UInt8]?) {
        guard let file, file.count >= 2 else { return nil }
        let length = Int(file[0]) << 8 | Int(file[1])
        guard file.count >= 2 + length + 16 else { return nil }
        let numbers = file[(2 + length)...]
        location = String(decoding: file[2..<2 + length], as: UTF8.self)
        revision = Int64(bigEndianBytes: numbers.prefix(8))
        date = Date(timeIntervalSince1970: TimeInterval(Int64(bigEndianBytes: numbers.dropFirst(8).prefix(8))))
        bytes = Array(numbers.dropFirst(16))
    }

    var encoded: [UInt8] {
        let location = Array(location.utf8.prefix(Int(UInt16.max)))
        return [UInt8(location.count >> 8), UInt8(location.count & 0xFF)] + location + revision.bigEndianBytes
            + Int64(date.timeIntervalSince1970).bigEndianBytes + bytes
    }
}

extension Int64 {
    var bigEndianBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> (56 - 8 * $0)) } }

    init(bigEndianBytes bytes: some Sequence<UInt8>) { self = bytes.reduce(0) { $0 << 8 | Int64($1) } }
}
