#if Offline
import AccountKit
import GRDB
import AccountCrypto
import AccountSupport
import Synchronization

/// The database of unsent changes. Each step is durable before the next step begins.
///
/// The decrypted changes stay in memory, and each row is decrypted again only after another process has changed it.
/// Otherwise, sending n changes would decrypt n² rows.
final class OutboxDatabase: Sendable {
    static let name = "Outbox.sqlite"
    private static let schema = """
        CREATE TABLE change(n INTEGER PRIMARY KEY AUTOINCREMENT, sealed BLOB NOT NULL);
        CREATE TABLE alias(local BLOB PRIMARY KEY, sealed BLOB NOT NULL);
        CREATE TABLE pause(sealed BLOB NOT NULL);

        """

    struct Entry: Sendable {
        let number: Int64
        var pending: PendingChange
        /// The item that the service has created for this change. The app does not send the change again. The
        /// lists may not contain the item yet.
        var made: RemoteItem?
        /// Identifies the stored form.
        fileprivate var fingerprint: Int
        var change: Change { pending.change }
    }

    /// The decrypted content of the database.
    private struct Content: Sendable {
        var stamp: Stamp
        var entries: [Entry]
        /// The result of ``claimedIDs()``, or `nil` if it is not known.
        var claimed: Set<String>?
    }

    /// A value that differs after each change of the database.
    private struct Stamp: Equatable, Sendable {
        let connection: ObjectIdentifier
        /// The number of changes by this connection.
        let ownChangeCount: Int
        /// A number that changes with each commit by another connection (SQLite, `PRAGMA data_version`).
        let version: Int

        init(_ database: Database) throws {
            connection = ObjectIdentifier(database)
            ownChangeCount = database.totalChangesCount
            version = try Int.fetchOne(database, sql: "PRAGMA data_version") ?? 0
        }
    }

    /// The encrypted content of a row.
    fileprivate struct Record: Codable {
        var change: Change
        var state: ChangeState
        var attempts: Int
        var notBefore: Date?
        var lastProblem: String?
        var isItemGone: Bool?
        var madeID: String?
        var madeJSON: Data?
    }

    private struct Pause: Codable {
        var until: Date
        var reason: String
        var storedAt: Date
    }

    let database: OfflineDatabase
    /// The number of rows that were decrypted.
    let decryptionCount = Atomic(0)
    private let seal: RowSeal
    private let known = Mutex<Content?>(nil)

    private init(database: OfflineDatabase, seal: RowSeal) {
        self.database = database
        self.seal = seal
    }

    static func open(in folder: String, _ storage: FileArchiveStorage, _ seal: RowSeal) async throws -> OutboxDatabase {
        OutboxDatabase(
            database: try await OfflineDatabase.open(
                name, in: folder, storage, isDurable: true, version: 2, schema: schema), seal: seal)
    }

    // MARK: Reading

    func pending() async throws -> [Entry] { try await database.readOnce { try self.content($0).entries } }

    /// Returns the ID that the service assigned to an item that this machine has created, or `nil` if there is none
    /// yet.
    func serviceID(of local: String) async throws -> String? {
        guard local.hasPrefix(Change.localPrefix) else { return nil }
        return try await database.read { database in
            if let id = try self.alias(of: local, database) { return id }
            return try self.content(database).entries.first { $0.change.object == local && $0.made != nil }?.made?.id
        }
    }

    /// Returns the IDs that the service assigned to items that this machine has created.
    func claimedIDs() async throws -> Set<String> {
        try await database.read { database in
            var content = try self.content(database)
            let made = content.entries.compactMap { $0.made?.id }
            if let claimed = content.claimed { return claimed.union(made) }
            let claimed = Set(
                try Row.fetchAll(database, sql: "SELECT local, sealed FROM alias").map { row in
                    try self.text(
                        row.decode(forColumn: "sealed"), type: "alias", id: row.decode(forColumn: "local"))
                })
            content.claimed = claimed
            self.note(content)
            return claimed.union(made)
        }
    }

    func pause(at date: Date) async throws -> (until: Date, reason: String)? {
        try await database.read { database -> (until: Date, reason: String)? in
            guard let sealed = try Data.fetchOne(database, sql: "SELECT sealed FROM pause") else { return nil }
            guard let bytes = self.seal.open(sealed, type: "pause", id: []) else { throw self.damaged }
            let pause = try JSONDecoder().decode(Pause.self, from: Data(bytes))
            // After the clock was set back, the end is unknown. If it has not come yet, the service says so again. A
            // stored date is less precise.
            guard pause.until > date, pause.until.timeIntervalSince(date) <= 86_400,
                date.timeIntervalSince(pause.storedAt) > -0.5
            else { return nil }
            return (pause.until, pause.reason)
        }
    }

    /// Returns the content. Only rows that are not in memory are decrypted.
    private func content(_ database: Database) throws -> Content {
        // Take the stamp first: if another process commits in between, the next call reads the rows again.
        let stamp = try Stamp(database)
        let before = known.withLock { $0 }
        if let before, before.stamp == stamp { return before }
        let old = Dictionary(uniqueKeysWithValues: (before?.entries ?? []).map { ($0.number, $0) })
        let sql = "SELECT n, sealed FROM change ORDER BY n"
        let entries = try Row.fetchAll(database.cachedStatement(sql: sql)).map { row in
            // In a damaged file, values may have any type, and a plain subscript would stop the program.
            let number = try row.decode(Int64.self, forColumn: "n")
            let sealed = try row.decode(Data.self, forColumn: "sealed")
            if let entry = old[number], entry.fingerprint == Self.fingerprint(sealed) { return entry }
            return try entry(number, sealed)
        }
        let content = Content(stamp: stamp, entries: entries, claimed: nil)
        note(content)
        return content
    }

    private func note(_ content: Content) { known.withLock { $0 = content } }

    private func entry(_ number: Int64, _ sealed: Data) throws -> Entry {
        decryptionCount.add(1, ordering: .relaxed)
        guard let bytes = seal.open(sealed, type: "change", id: Self.id(number)) else { throw damaged }
        let record = try JSONDecoder().decode(Record.self, from: Data(bytes))
        return Entry(number, record, fingerprint: Self.fingerprint(sealed))
    }

    private static func fingerprint(_ sealed: Data) -> Int {
        var hasher = Hasher()
        sealed.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
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

    /// Changes the database and the content in memory in the same way.
    private func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database, inout Content) throws -> Value
    ) async throws -> Value {
        try await database.write { database in
            var content = try self.content(database)
            let value = try body(database, &content)
            content.stamp = try Stamp(database)
            let committed = content
            // After a rollback, the number of changes differs, so the next call reads the rows again.
            database.afterNextTransaction(onCommit: { _ in self.note(committed) })
            return value
        }
    }

    /// Adds a change, or combines it with the previous change of the same item, if that was not sent or was refused, and
    /// the service has not created its item.
    /// Returns `nil` if the two changes cancel each other out.
    func add(
        _ change: Change, joining: @escaping @Sendable (Change, Change) throws -> [Change]
    ) async throws -> Change? {
        try await write { database, content in
            var change = change
            if change.hasLocalID, let id = try self.alias(of: change.object, database) { change.object = id }
            while let before = content.entries.last(where: { $0.change.object == change.object }), before.made == nil,
                before.pending.state == .refused || before.pending.state == .queued && before.change.sentAt == nil
            {
                let joined = try joining(before.change, change)
                if joined.count > 1 { break }
                try self.delete([before.number], &content, database)
                guard let joined = joined.first else { return nil }
                // Try to combine the result with the previous change too.
                change = before.change.with(joined.kind, joined.body, base: change.base)
                if before.pending.state == .refused { change = change.anew }
            }
            try database.execute(sql: "INSERT INTO change(sealed) VALUES (x'')")
            let pending = PendingChange(change: change, state: .queued, attempts: 0, lastProblem: nil, notBefore: nil)
            content.entries.append(try self.store(pending, made: nil, as: database.lastInsertedRowID, database))
            return change
        }
    }

    /// Replaces the state of a change. Returns `nil` if the change was combined with another change or dropped after
    /// `entry` was read.
    func replace(_ entry: Entry, with pending: PendingChange, made: RemoteItem? = nil) async throws -> Entry? {
        try await write { database, content in
            guard let index = content.entries.firstIndex(where: { $0.number == entry.number }),
                content.entries[index].pending == entry.pending
            else { return nil }
            let new = try self.store(pending, made: made ?? entry.made, as: entry.number, database)
            content.entries[index] = new
            return new
        }
    }

    /// Stores a change in an existing row. Returns the stored form, because a stored date is less precise.
    private func store(
        _ pending: PendingChange, made: RemoteItem?, as number: Int64, _ database: Database
    ) throws -> Entry {
        let record = try JSONEncoder().encode(
            Record(
                change: pending.change, state: pending.state, attempts: pending.attempts, notBefore: pending.notBefore,
                lastProblem: pending.lastProblem, isItemGone: pending.isItemGone, madeID: made?.id,
                madeJSON: made?.json))
        let sealed = Data(seal.seal(record, type: "change", id: Self.id(number)))
        try database.execute(sql: "UPDATE change SET sealed = ? WHERE n = ?", arguments: [sealed, number])
        return Entry(
            number, try JSONDecoder().decode(Record.self, from: record), fingerprint: Self.fingerprint(sealed))
    }

    private func delete(_ numbers: Set<Int64>, _ content: inout Content, _ database: Database) throws {
        for number in numbers { try database.execute(sql: "DELETE FROM change WHERE n = ?", arguments: [number]) }
        content.entries.removeAll { numbers.contains($0.number) }
    }

    /// Removes an unwanted change. If the change would create an item, this method also removes later changes of the
    /// item.
    func discard(_ entry: Entry) async throws {
        try await write { database, content in
            var numbers: Set = [entry.number]
            if entry.change.kind == .create {
                numbers.formUnion(
                    content.entries.filter { $0.change.object == entry.change.object }.map(\.number))
            }
            try self.delete(numbers, &content, database)
        }
    }

    /// Removes a change that the service has applied. Later changes of the item receive the service's `id` and
    /// `version`.
    func remove(_ entry: Entry, made id: String? = nil, version: String? = nil) async throws {
        try await write { database, content in
            try self.delete([entry.number], &content, database)
            let object = id ?? entry.change.object
            for index in content.entries.indices where content.entries[index].change.object == entry.change.object {
                let later = content.entries[index]
                content.entries[index] = try self.store(
                    later.pending.of(object, version: version), made: later.made, as: later.number, database)
            }
            guard let id, entry.change.hasLocalID else { return }
            let local = self.objectKey(entry.change.object)
            try database.execute(
                sql: "INSERT OR REPLACE INTO alias(local, sealed) VALUES (?, ?)",
                arguments: [Data(local), Data(self.seal.seal(id.utf8, type: "alias", id: local))])
            content.claimed?.insert(id)
        }
    }

    func pause(until end: Date, at date: Date, because reason: String) async throws {
        let pause = try JSONEncoder().encode(Pause(until: end, reason: reason, storedAt: date))
        try await write { database, _ in
            try database.execute(sql: "DELETE FROM pause")
            try database.execute(
                sql: "INSERT INTO pause(sealed) VALUES (?)",
                arguments: [Data(self.seal.seal(pause, type: "pause", id: []))])
        }
    }
}

extension OutboxDatabase.Entry {
    fileprivate init(_ number: Int64, _ record: OutboxDatabase.Record, fingerprint: Int) {
        self.init(
            number: number,
            pending: PendingChange(
                change: record.change, state: record.state, attempts: record.attempts,
                lastProblem: record.lastProblem, notBefore: record.notBefore, isItemGone: record.isItemGone ?? false),
            made: record.madeID.map { RemoteItem(id: $0, json: record.madeJSON ?? Data()) }, fingerprint: fingerprint)
    }
}

extension Change {
    /// - Parameter base: The version of the item when the later change was made.
    fileprivate func with(_ kind: ChangeKind, _ body: Data, base later: String?) -> Change {
        var change = self
        // A change of another kind may not depend on the version, unlike the combined change.
        if kind != change.kind { change.base = change.base ?? later }
        change.kind = kind
        change.body = body
        return change
    }

    /// The change with a new ID: a service may repeat its refusal of the same idempotency key.
    var anew: Change { Change(kind, of: object, body: body, base: base, at: madeAt) }
}

extension PendingChange {
    fileprivate func of(_ object: String, version: String?) -> PendingChange {
        var change = change
        change.object = object
        change.base = version ?? change.base
        return PendingChange(
            change: change, state: state, attempts: attempts, lastProblem: lastProblem, notBefore: notBefore,
            isItemGone: isItemGone)
    }
}
#endif
