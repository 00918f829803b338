#if Offline
import AccountKit
import GRDB
import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The database of unsent changes. Each step is durable before the next step begins.
struct OutboxDatabase: Sendable {
    static let name = "Outbox.sqlite"
    private static let schema = """
        CREATE TABLE change(
            n INTEGER PRIMARY KEY AUTOINCREMENT, object BLOB NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL,
            not_before REAL, sealed BLOB NOT NULL);
        CREATE INDEX change_object ON change(object);
        CREATE TABLE alias(local BLOB PRIMARY KEY, sealed BLOB NOT NULL);
        CREATE TABLE pause(until REAL NOT NULL, sealed BLOB NOT NULL);

        """

    struct Entry: Sendable {
        let number: Int64
        var pending: PendingChange
        /// The item that the service has created for this change. The app does not send the change again. The
        /// lists may not contain the item yet.
        var made: RemoteItem?
        var change: Change { pending.change }
    }

    private struct Record: Codable {
        var change: Change
        var lastProblem: String?
        var madeID: String?
        var madeJSON: Data?
        /// The progress, or `nil` in a row of an earlier version, which stored the progress only in columns.
        var progress: Progress?
    }

    /// The progress of a change, which is stored encrypted. Earlier versions use the columns with the same names, which
    /// other programs can change.
    private struct Progress: Codable {
        var state: ChangeState
        var attempts: Int
        var notBefore: Date?
    }

    /// The encrypted part of a pause. Earlier versions encrypted only the reason, with the type ``legacyPauseType``.
    private struct Pause: Codable {
        var until: Date
        var reason: String
    }

    private static let pauseType = "pause until"
    private static let legacyPauseType = "pause"

    let database: OfflineDatabase
    private let seal: RowSeal

    static func open(in folder: String, _ storage: FileArchiveStorage, _ seal: RowSeal) async throws -> OutboxDatabase {
        OutboxDatabase(
            database: try await OfflineDatabase.open(
                name, in: folder, storage, isDurable: true, version: 1, schema: schema), seal: seal)
    }

    func close() async { await database.settle() }

    // MARK: Reading

    func pending() async throws -> [Entry] { try await database.readOnce { try entries($0) } }

    /// Returns the ID that the service assigned to an item that this machine has created, or `nil` if there is none
    /// yet.
    func serviceID(of local: String) async throws -> String? {
        guard local.hasPrefix(Change.localPrefix) else { return nil }
        return try await database.read { database in
            if let id = try alias(of: local, database) { return id }
            return try entries(database).first { $0.change.object == local && $0.made != nil }?.made?.id
        }
    }

    /// Returns the IDs that the service assigned to items that this machine has created.
    func claimedIDs() async throws -> Set<String> {
        try await database.read { database in
            let rows = try Row.fetchAll(database, sql: "SELECT local, sealed FROM alias")
            return Set(
                try rows.map {
                    try text($0.decode(forColumn: "sealed"), type: "alias", id: $0.decode(forColumn: "local"))
                })
        }
    }

    func pause(at date: Date) async throws -> (until: Date, reason: String)? {
        try await database.read { database -> (until: Date, reason: String)? in
            guard let row = try Row.fetchOne(database, sql: "SELECT until, sealed FROM pause") else { return nil }
            let pause = try pause(row)
            // A pause that ends more than a day ahead means that the clock was set back.
            guard pause.until > date, pause.until.timeIntervalSince(date) <= 86_400 else { return nil }
            return (pause.until, pause.reason)
        }
    }

    private func pause(_ row: Row) throws -> Pause {
        let sealed = try row.decode(Data.self, forColumn: "sealed")
        if let bytes = seal.open(sealed, type: Self.pauseType, id: []) {
            return try JSONDecoder().decode(Pause.self, from: Data(bytes))
        }
        return Pause(
            until: Date(timeIntervalSince1970: try row.decode(forColumn: "until")),
            reason: try text(sealed, type: Self.legacyPauseType, id: Data()))
    }

    private func entries(_ database: Database) throws -> [Entry] {
        let sql = "SELECT n, object, state, attempts, not_before, sealed FROM change ORDER BY n"
        return try Row.fetchAll(database.cachedStatement(sql: sql)).map { try entry($0) }
    }

    /// Decodes an entry. In a damaged file, values may have any type, and a plain subscript would stop the program.
    private func entry(_ row: Row) throws -> Entry {
        let number = try row.decode(Int64.self, forColumn: "n")
        guard
            let bytes = seal.open(try row.decode(Data.self, forColumn: "sealed"), type: "change", id: Self.id(number))
        else { throw damaged }
        let record = try JSONDecoder().decode(Record.self, from: Data(bytes))
        let progress = try record.progress ?? legacyProgress(row)
        return Entry(
            number: number,
            pending: PendingChange(
                change: record.change, state: progress.state, attempts: progress.attempts,
                lastProblem: record.lastProblem, notBefore: progress.notBefore),
            made: record.madeID.map { RemoteItem(id: $0, json: record.madeJSON ?? Data()) })
    }

    private func legacyProgress(_ row: Row) throws -> Progress {
        guard let state = ChangeState(rawValue: try row.decode(forColumn: "state")) else { throw damaged }
        return Progress(
            state: state, attempts: try row.decode(forColumn: "attempts"),
            notBefore: try row.decode(Double?.self, forColumn: "not_before").map { Date(timeIntervalSince1970: $0) })
    }

    private func alias(of local: String, _ database: Database) throws -> String? {
        let key = objectKey(local)
        guard
            let sealed = try Data.fetchOne(
                database, sql: "SELECT sealed FROM alias WHERE local = ?", arguments: [Data(key)])
        else { return nil }
        return try text(sealed, type: "alias", id: Data(key))
    }

    private func text(_ sealed: Data, type: String, id: Data) throws -> String {
        guard let bytes = seal.open(sealed, type: type, id: id) else { throw damaged }
        return String(decoding: bytes, as: UTF8.self)
    }

    private var damaged: AccountError {
        AccountError(
            .damaged,
            "\(database.path) is damaged: an unsent change cannot be read. Nothing was sent or removed; restore a backup, or move the "
                + "file away to continue without its content")
    }

    private func objectKey(_ object: String) -> [UInt8] { seal.keyedID(object.utf8, type: "object") }

    private static func id(_ number: Int64) -> [UInt8] { Array("\(number)".utf8) }

    // MARK: Writing

    /// Adds a change, or combines it with the previous unsent change of the same item. Returns `nil` if the two changes
    /// cancel each other out.
    func add(
        _ change: Change, joining: @escaping @Sendable (Change, Change) throws -> CoalescedChanges
    ) async throws -> Change? {
        try await database.write { database in
            var change = change
            if change.hasLocalID, let id = try alias(of: change.object, database) { change.object = id }
            while let before = try entries(database).last(where: { $0.change.object == change.object }),
                before.pending.state == .queued, before.change.sentAt == nil
            {
                let joined = try joining(before.change, change)
                if joined == .both { break }
                try database.execute(sql: "DELETE FROM change WHERE n = ?", arguments: [before.number])
                guard case .one(let kind, let body) = joined else { return nil }
                // Try to combine the result with the previous change too.
                change = before.change.with(kind, body)
            }
            try database.execute(
                sql: "INSERT INTO change(object, state, attempts, sealed) VALUES (?, ?, 0, x'')",
                arguments: [Data(objectKey(change.object)), ChangeState.queued.rawValue])
            let pending = PendingChange(change: change, state: .queued, attempts: 0, lastProblem: nil, notBefore: nil)
            try update(Entry(number: database.lastInsertedRowID, pending: pending), database)
            return change
        }
    }

    /// Replaces the state of a change. Returns `nil` if the change was combined with another change or dropped after
    /// `entry` was read.
    func replace(_ entry: Entry, with pending: PendingChange, made: RemoteItem? = nil) async throws -> Entry? {
        try await database.write { database in
            let sql = "SELECT n, object, state, attempts, not_before, sealed FROM change WHERE n = ?"
            guard let row = try Row.fetchOne(database, sql: sql, arguments: [entry.number]),
                try self.entry(row).pending == entry.pending
            else { return nil }
            let new = Entry(number: entry.number, pending: pending, made: made ?? entry.made)
            try update(new, database)
            // Return the stored form of the change, because a stored date is less precise.
            return try Row.fetchOne(database, sql: sql, arguments: [entry.number]).map { try self.entry($0) }
        }
    }

    private func update(_ entry: Entry, _ database: Database) throws {
        let pending = entry.pending
        let record = try JSONEncoder().encode(
            Record(
                change: pending.change, lastProblem: pending.lastProblem, madeID: entry.made?.id,
                madeJSON: entry.made?.json,
                progress: Progress(
                    state: pending.state, attempts: pending.attempts, notBefore: pending.notBefore)))
        try database.execute(
            sql: "UPDATE change SET object = ?, state = ?, attempts = ?, not_before = ?, sealed = ? WHERE n = ?",
            arguments: [
                Data(objectKey(pending.change.object)), pending.state.rawValue, pending.attempts,
                pending.notBefore?.timeIntervalSince1970,
                Data(seal.seal(record, type: "change", id: Self.id(entry.number))),
                entry.number,
            ])
    }

    /// Removes an unwanted change. If the change would create an item, this method also removes later changes of the
    /// item.
    func discard(_ entry: Entry) async throws {
        try await database.write { database in
            var numbers = [entry.number]
            if entry.change.kind == .create {
                numbers += try entries(database).filter { $0.change.object == entry.change.object }.map(\.number)
            }
            for number in numbers { try database.execute(sql: "DELETE FROM change WHERE n = ?", arguments: [number]) }
        }
    }

    /// Removes a change that the service has applied. Later changes of the item receive the service's `id` and
    /// `version`.
    func remove(_ entry: Entry, made id: String? = nil, version: String? = nil) async throws {
        try await database.write { database in
            try database.execute(sql: "DELETE FROM change WHERE n = ?", arguments: [entry.number])
            let object = id ?? entry.change.object
            for var later in try entries(database) where later.change.object == entry.change.object {
                later.pending = later.pending.of(object, version: version)
                try update(later, database)
            }
            guard let id, entry.change.hasLocalID else { return }
            let local = objectKey(entry.change.object)
            try database.execute(
                sql: "INSERT OR REPLACE INTO alias(local, sealed) VALUES (?, ?)",
                arguments: [Data(local), Data(seal.seal(id.utf8, type: "alias", id: local))])
        }
    }

    func pause(until date: Date, because reason: String) async throws {
        let pause = try JSONEncoder().encode(Pause(until: date, reason: reason))
        try await database.write { database in
            try database.execute(sql: "DELETE FROM pause")
            try database.execute(
                sql: "INSERT INTO pause(until, sealed) VALUES (?, ?)",
                arguments: [date.timeIntervalSince1970, Data(seal.seal(pause, type: Self.pauseType, id: []))])
        }
    }
}

extension Change {
    fileprivate func with(_ kind: ChangeKind, _ body: Data) -> Change {
        var change = self
        change.kind = kind
        change.body = body
        return change
    }
}

extension PendingChange {
    fileprivate func of(_ object: String, version: String?) -> PendingChange {
        var change = change
        change.object = object
        change.base = version ?? change.base
        return PendingChange(
            change: change, state: state, attempts: attempts, lastProblem: lastProblem, notBefore: notBefore)
    }
}
#endif
