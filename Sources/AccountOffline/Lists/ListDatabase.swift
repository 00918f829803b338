#if Offline
import AccountKit
import GRDB
import Sealing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Lists and their items, as the service has them. All of it can be fetched again.
///
/// An item is stored once, in any number of lists. A list is a number of segments, and the rows of a segment are in the order of
/// their positions, which may be negative: what is new at the service comes before what is there.
struct ListDatabase: Sendable {
    static let name = "Lists.sqlite"
    static let version = 1
    private static let schema = """
        CREATE TABLE item(n INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, digest BLOB NOT NULL, sealed BLOB NOT NULL);
        CREATE TABLE list(n INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, as_of REAL, sealed BLOB NOT NULL);
        CREATE TABLE entry(
            list INTEGER NOT NULL, segment INTEGER NOT NULL, position INTEGER NOT NULL, item INTEGER NOT NULL,
            PRIMARY KEY(list, segment, position));
        CREATE UNIQUE INDEX entry_item ON entry(item, list);
        CREATE TABLE detail(key BLOB PRIMARY KEY, as_of REAL NOT NULL, sealed BLOB NOT NULL);

        """

    struct StoredList: Sendable {
        var record: ListRecord
        var asOf: Date?
    }

    struct StoredRow: Sendable {
        let item: RemoteItem
        let segment: Int
        let position: Int
    }

    private let database: OfflineDatabase
    private let seal: RowSeal

    /// Opens the lists. A file that is damaged, or of a later version, is replaced by an empty one.
    static func open(
        in folder: String, _ storage: FileArchiveStorage, _ seal: RowSeal
    ) async throws -> (lists: ListDatabase, replaced: AccountError?) {
        var replaced: AccountError?
        for _ in 1...2 {
            do {
                let database = try await OfflineDatabase.open(
                    name, in: folder, storage, isDurable: false, version: version, schema: schema)
                return (ListDatabase(database: database, seal: seal), replaced)
            } catch let error as AccountError
                where replaced == nil && (error.code == .damaged || error.code == .unsupportedVersion)
            {
                replaced = error
                OfflineDatabase.remove(name, in: folder)
            }
        }
        throw replaced ?? AccountError(.inaccessible, "\(folder)/\(name) cannot be used")
    }

    func close() async { await database.close() }

    // MARK: Reading

    func list(_ name: String) async throws -> StoredList? { try await database.read { try list(name, $0)?.stored } }

    /// Rows of a list in their order.
    ///
    /// - Parameter row: The row to begin after.
    func rows(of name: String, after row: StoredRow? = nil, limit: Int) async throws -> [StoredRow] {
        try await database.read { database in
            guard let list = try list(name, database) else { return [] }
            let sql = """
                SELECT entry.segment, entry.position, item.key, item.sealed FROM entry JOIN item ON item.n = entry.item
                WHERE entry.list = ? AND (entry.segment, entry.position) > (?, ?)
                ORDER BY entry.segment, entry.position LIMIT ?
                """
            let start = row.map { ($0.segment, $0.position) } ?? (Int.min, Int.min)
            return try Row.fetchAll(database, sql: sql, arguments: [list.number, start.0, start.1, limit]).map {
                StoredRow(
                    item: try item($0["sealed"], key: $0["key"], type: "item"), segment: $0["segment"],
                    position: $0["position"])
            }
        }
    }

    /// How many rows a list has, and how many of them are before the first gap.
    func count(of name: String) async throws -> (all: Int, first: Int) {
        try await database.read { database in
            guard let list = try list(name, database) else { return (0, 0) }
            let sql = "SELECT count(*), coalesce(sum(segment = ?), 0) FROM entry WHERE list = ?"
            let first = list.stored.record.segments.first?.number ?? 0
            guard let row = try Row.fetchOne(database, sql: sql, arguments: [first, list.number]) else { return (0, 0) }
            return (row[0], row[1])
        }
    }

    /// All lists.
    func all() async throws -> [StoredList] {
        try await database.read { database in
            try Row.fetchAll(database, sql: "SELECT n, key, as_of, sealed FROM list ORDER BY n").map {
                try list($0).stored
            }
        }
    }

    /// An item as some list has it.
    func item(_ id: String) async throws -> RemoteItem? {
        try await database.read { database in
            let key = Data(itemKey(id))
            let sealed = try Data.fetchOne(database, sql: "SELECT sealed FROM item WHERE key = ?", arguments: [key])
            return try sealed.map { try item($0, key: key, type: "item") }
        }
    }

    /// An item with everything that is known of it.
    func detail(of id: String) async throws -> (item: RemoteItem, asOf: Date)? {
        try await database.read { database in
            let key = Data(itemKey(id))
            guard
                let row = try Row.fetchOne(
                    database, sql: "SELECT as_of, sealed FROM detail WHERE key = ?", arguments: [key])
            else { return nil }
            return (try item(row["sealed"], key: key, type: "detail"), Date(timeIntervalSince1970: row["as_of"]))
        }
    }

    private func list(_ name: String, _ database: Database) throws -> (number: Int64, stored: StoredList)? {
        let sql = "SELECT n, key, as_of, sealed FROM list WHERE key = ?"
        return try Row.fetchOne(database, sql: sql, arguments: [Data(listKey(name))]).map { try list($0) }
    }

    private func list(_ row: Row) throws -> (number: Int64, stored: StoredList) {
        guard let bytes = seal.open(row["sealed"] as Data, type: "list", id: Array(row["key"] as Data)) else {
            throw damaged
        }
        let record = try JSONDecoder().decode(ListRecord.self, from: Data(bytes))
        let asOf = (row["as_of"] as Double?).map { Date(timeIntervalSince1970: $0) }
        return (row["n"], StoredList(record: record, asOf: asOf))
    }

    private func item(_ sealed: Data, key: Data, type: String) throws -> RemoteItem {
        guard let bytes = seal.open(sealed, type: type, id: Array(key)), let end = bytes.firstIndex(of: 0) else {
            throw damaged
        }
        return RemoteItem(id: String(decoding: bytes[..<end], as: UTF8.self), json: Data(bytes[(end + 1)...]))
    }

    /// The id, a zero byte, and the JSON as the service sent it.
    private func bytes(of item: RemoteItem) -> [UInt8] { Array(item.id.utf8) + [0] + item.json }

    private var damaged: AccountError { AccountError(.damaged, "\(database.path) is damaged") }
    private func itemKey(_ id: String) -> [UInt8] { seal.keyedID(id.utf8, type: "item") }
    private func listKey(_ name: String) -> [UInt8] { seal.keyedID(name.utf8, type: "list") }

    // MARK: Writing

    /// Notes that the first page is still as it was.
    func touch(_ name: String, next: String?, at date: Date) async throws {
        try await database.write { database in
            guard var list = try list(name, database) else { return }
            // A 304 has the newest links, which can change while the page does not.
            if let last = list.stored.record.segments.indices.first, list.stored.record.segments[last].next == nil,
                let next
            {
                list.stored.record.segments[last].next = next
                try save(list.stored.record, at: date, list.number, name, database)
            } else {
                try database.execute(
                    sql: "UPDATE list SET as_of = ? WHERE n = ?", arguments: [date.timeIntervalSince1970, list.number])
            }
        }
    }

    /// What became of a page.
    struct Stored: Sendable, Equatable {
        /// Whether the service says that the list is empty, and that is not believed yet.
        var isDoubtful = false
        /// Whether the page has something of what was stored before it, so that nothing can be missing in between.
        var isContiguous = true
    }

    /// Stores the first page of a list.
    func storeFirst(
        _ page: RemotePage, of name: String, _ validators: Validators?, missingIsGone: Bool, at date: Date
    ) async throws -> Stored {
        try await database.write { database in
            let (number, stored) = try listForWriting(name, database)
            var record = stored.record
            let writer = EntryWriter(list: number, database)
            if page.items.isEmpty, page.next == nil, try writer.count() > 1 {
                // Nothing goes because everything seems to: it is shown, and asked again.
                let since = record.emptySince ?? date
                record.emptySince = since
                record.validators = nil
                if date.timeIntervalSince(since) < 600 {
                    try save(record, at: stored.asOf, number, name, database)
                    return Stored(isDoubtful: true)
                }
            }
            record.emptySince = nil
            record.validators = validators
            let items = try upsert(page.items, database)
            let missing = try writer.putFirst(items, next: page.next, &record.segments)
            try save(record, at: date, number, name, database)
            try remove(missing, isGone: missingIsGone, database)
            return Stored()
        }
    }

    /// Stores a further page, which continues the first segment.
    ///
    /// - Parameter mustOverlap: Whether it must have something of what is there, or else is not stored.
    func storeNext(
        _ page: RemotePage, of name: String, mustOverlap: Bool, missingIsGone: Bool, at date: Date
    ) async throws -> Stored {
        try await database.write { database in
            let (number, stored) = try listForWriting(name, database)
            var record = stored.record
            let writer = EntryWriter(list: number, database)
            let items = try upsert(page.items, database)
            guard let missing = try writer.append(items, next: page.next, mustOverlap: mustOverlap, &record.segments)
            else {
                return Stored(isContiguous: false)
            }
            try save(record, at: stored.asOf, number, name, database)
            try remove(missing, isGone: missingIsGone, database)
            return Stored()
        }
    }

    /// Puts an item that this machine has made, or changed, where the service will have it.
    func put(_ item: RemoteItem, firstIn lists: [String]) async throws {
        try await database.write { database in
            let number = try upsert(item, database)
            for name in lists {
                guard let list = try list(name, database), let top = list.stored.record.segments.first else { continue }
                try EntryWriter(list: list.number, database).insertFirst(number, segment: top.number)
            }
            try remove([number], isGone: false, database)
        }
    }

    func remove(_ id: String, from lists: [String]) async throws {
        try await database.write { database in
            let key = Data(itemKey(id))
            guard let item = try Int64.fetchOne(database, sql: "SELECT n FROM item WHERE key = ?", arguments: [key])
            else {
                return
            }
            for name in lists {
                guard let list = try list(name, database) else { continue }
                try database.execute(
                    sql: "DELETE FROM entry WHERE list = ? AND item = ?", arguments: [list.number, item])
            }
            try remove([item], isGone: false, database)
        }
    }

    func storeDetail(_ item: RemoteItem, at date: Date) async throws {
        try await database.write { database in
            let key = itemKey(item.id)
            try database.execute(
                sql: "INSERT OR REPLACE INTO detail(key, as_of, sealed) VALUES (?, ?, ?)",
                arguments: [
                    Data(key), date.timeIntervalSince1970, Data(seal.seal(bytes(of: item), type: "detail", id: key)),
                ])
        }
    }

    /// Removes an item that is gone at the service from all lists.
    func removeItem(_ id: String) async throws {
        try await database.write { database in
            let key = Data(itemKey(id))
            try database.execute(sql: "DELETE FROM detail WHERE key = ?", arguments: [key])
            let number = try Int64.fetchOne(database, sql: "SELECT n FROM item WHERE key = ?", arguments: [key])
            if let number { try remove([number], isGone: true, database) }
        }
    }

    private func listForWriting(_ name: String, _ database: Database) throws -> (Int64, StoredList) {
        if let list = try list(name, database) { return (list.number, list.stored) }
        try database.execute(
            sql: "INSERT INTO list(key, sealed) VALUES (?, x'')", arguments: [Data(listKey(name))])
        return (database.lastInsertedRowID, StoredList(record: ListRecord(name: name)))
    }

    private func save(
        _ record: ListRecord, at date: Date?, _ number: Int64, _ name: String, _ database: Database
    ) throws {
        let sealed = seal.seal(try JSONEncoder().encode(record), type: "list", id: listKey(name))
        try database.execute(
            sql: "UPDATE list SET as_of = ?, sealed = ? WHERE n = ?",
            arguments: [date?.timeIntervalSince1970, Data(sealed), number])
    }

    /// Writes items, each once.
    private func upsert(_ items: [RemoteItem], _ database: Database) throws -> [Int64] {
        var seen: Set<Int64> = []
        return try items.map { try upsert($0, database) }.filter { seen.insert($0).inserted }
    }

    /// Writes an item if it is not there as it is.
    private func upsert(_ item: RemoteItem, _ database: Database) throws -> Int64 {
        let key = itemKey(item.id)
        let digest = Data(seal.keyedID(item.json, type: "digest"))
        let row = try Row.fetchOne(database, sql: "SELECT n, digest FROM item WHERE key = ?", arguments: [Data(key)])
        if let row, row["digest"] == digest { return row["n"] }
        let sealed = Data(seal.seal(bytes(of: item), type: "item", id: key))
        if let row {
            try database.execute(
                sql: "UPDATE item SET digest = ?, sealed = ? WHERE n = ?",
                arguments: [digest, sealed, row["n"] as Int64])
            return row["n"]
        }
        try database.execute(
            sql: "INSERT INTO item(key, digest, sealed) VALUES (?, ?, ?)", arguments: [Data(key), digest, sealed])
        return database.lastInsertedRowID
    }

    /// Removes items: altogether, or only those that no list has any more.
    private func remove(_ items: [Int64], isGone: Bool, _ database: Database) throws {
        for item in items {
            if isGone { try database.execute(sql: "DELETE FROM entry WHERE item = ?", arguments: [item]) }
            try database.execute(
                sql: "DELETE FROM item WHERE n = ? AND NOT EXISTS (SELECT 1 FROM entry WHERE item = item.n)",
                arguments: [item])
        }
    }
}
#endif
