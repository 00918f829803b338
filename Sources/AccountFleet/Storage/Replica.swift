import AccountKit
import Logging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What this machine has last read or written of the account, sealed as it was: for when the store cannot be reached.
///
/// It is given to readers only, and removed once the account is seen to be gone.
struct Replica: Sendable {
    /// How old the date of a replica may grow before it is written again with the same bytes.
    private static let interval: TimeInterval = 300

    private let storage: FileArchiveStorage
    private let location: String
    private let clock: any WallClock
    private let logger: Logger?

    init(
        of location: EtcdLocation, container: AppContainer, session: SessionName,
        clock: any WallClock = SystemWallClock(), logger: Logger?
    ) {
        let folder = container.caches.path(percentEncoded: false)
        storage = FileArchiveStorage(
            folder: (folder.hasSuffix("/") ? folder : folder + "/") + "Store/" + session.rawValue, in: container)
        self.location = location.description
        self.clock = clock
        self.logger = logger
    }

    /// `nil` if there is none that can be used.
    func read(_ entry: ArchiveEntry) -> StoredEntry? {
        guard entry == .account, let content = content else { return nil }
        return StoredEntry(
            bytes: content.bytes, revision: ArchiveRevision(content.revision), asOf: content.date)
    }

    /// Takes over what the store has.
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
            // A read that took longer than another comes late. After a minute the store itself is another one: restored
            // from a backup, it counts from there.
            if let old = ReplicaContent(stored?.bytes), old.location == location, old.revision > revision,
                abs(content.date.timeIntervalSince(old.date)) < 60
            {
                return
            }
            _ = try await transaction.replace(entry, with: content.encoded, ifRevision: stored?.revision)
        }
    }

    /// - Parameter revision: When the account was removed, or was not there; what is newer stays.
    func remove(_ entry: ArchiveEntry, revision: Int64) async {
        // Nothing is made where nobody was ever signed in.
        guard entry == .account, content != nil else { return }
        await change { transaction, stored in
            guard let stored, ReplicaContent(stored.bytes).map({ $0.revision <= revision }) ?? true else { return }
            _ = try await transaction.remove(entry, ifRevision: stored.revision)
        }
    }

    private var content: ReplicaContent? {
        // What cannot be read is as good as none.
        guard let content = ReplicaContent((try? storage.read(.account))?.bytes), content.location == location else {
            return nil
        }
        return content
    }

    /// The store has the account; that its replica cannot be written keeps nobody from using it.
    private func change(
        _ body: @escaping @Sendable (any ArchiveTransaction, StoredEntry?) async throws -> Void
    ) async {
        do {
            let transaction = try await storage.beginTransaction(timeout: .seconds(1))
            do {
                try await body(transaction, try await transaction.read(.account))
            } catch {
                logger?.debug("the replica could not be changed", metadata: ["error": "\(error)"])
            }
            await transaction.end()
        } catch {
            logger?.debug("the replica cannot be changed", metadata: ["error": "\(error)"])
        }
    }
}

/// A replica's file: the length of the location (2 bytes), the location, the revision and the seconds since 1970 (8 bytes
/// each, all big-endian), and the entry.
struct ReplicaContent: Sendable, Hashable {
    var location: String
    var revision: Int64

    /// In whole seconds.
    var date: Date
    var bytes: [UInt8]
}

extension ReplicaContent {
    /// `nil` if it is none.
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
