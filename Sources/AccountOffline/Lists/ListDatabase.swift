#if Offline
import AccountKit
import GRDB
import AccountCrypto
import AccountSupport
import Synchronization

/// The lists and items from the service. The app can request all of this data again.
///
/// The database stores an item once for all lists. The positions determine the order of the rows in a segment of a
/// list. Positions may be negative, because new items come before the stored items.
struct ListDatabase: Sendable {
    static let name = "Lists.sqlite"
    static let version = 4
    /// The statements that create the tables. In `detail`, `listed` is the digest that the item had in the lists when its
    /// detail was stored.
    private static let schema = """
        CREATE TABLE item(n INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, digest BLOB NOT NULL, sealed BLOB NOT NULL);
        CREATE TABLE list(
            n INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, as_of REAL, last_used REAL, sealed BLOB NOT NULL);
        CREATE TABLE entry(
            list INTEGER NOT NULL, segment INTEGER NOT NULL, position INTEGER NOT NULL, item INTEGER NOT NULL,
            stamp INTEGER NOT NULL, PRIMARY KEY(list, segment, position));
        CREATE UNIQUE INDEX entry_item ON entry(item, list);
        CREATE TABLE detail(key BLOB PRIMARY KEY, as_of REAL NOT NULL, listed BLOB, sealed BLOB NOT NULL);
        CREATE TABLE page(
            list BLOB NOT NULL, request BLOB NOT NULL, sweep INTEGER NOT NULL, transfer INTEGER NOT NULL,
            sealed BLOB NOT NULL, PRIMARY KEY(list, request)) WITHOUT ROWID;

        """

    struct StoredList: Sendable {
        let number: Int64
        var record: ListRecord
        var asOf: Date?
    }

    struct Place: Sendable {
        let segment: Int
        let position: Int
    }

    let database: OfflineDatabase
    let seal: RowSeal
    let maximumBytes: Int
    private let dropped: Dropped

    private final class Dropped: Sendable {
        let reason: Mutex<AccountError?>
        init(_ reason: AccountError?) { self.reason = Mutex(reason) }
    }

    /// The reason why AccountKit dropped unusable stored data, or `nil` if it did not.
    var whyDropped: AccountError? { dropped.reason.withLock { $0 } }

    /// Opens the lists. If the file is damaged or has another schema, this method replaces it with an empty file.
    static func open(
        in folder: String, _ storage: FileArchiveStorage, _ seal: RowSeal, maximumBytes: Int
    ) async throws -> ListDatabase {
        var replaced: AccountError?
        for _ in 1...2 {
            do {
                let database = try await OfflineDatabase.open(
                    name, in: folder, storage, isDurable: false, version: version, schema: schema,
                    // Each run evicts the lists beyond the maximum at its end. Before that, it may store the same
                    // amount again.
                    maximumBytes: 2 * maximumBytes)
                return ListDatabase(
                    database: database, seal: seal, maximumBytes: maximumBytes, dropped: Dropped(replaced))
            } catch let error as AccountError
                where replaced == nil && (error.code == .damaged || error.code == .unsupportedVersion)
            {
                replaced = error
                await OfflineDatabase.remove(name, in: folder)
            }
        }
        throw replaced ?? AccountError(.inaccessible, "\(folder)/\(name) cannot be used")
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await replacingDamage { try await database.read(body) }
    }

    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await replacingDamage { try await database.write(body) }
    }

    /// Replaces a database in which damage is detected after it was opened. The service still has all of the data.
    private func replacingDamage<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as AccountError where error.code == .damaged {
            try await database.makeAnew(Self.schema, Self.version)
            dropped.reason.withLock { $0 = error }
            return try await body()
        }
    }

    // MARK: Reading

    func list(_ name: String) async throws -> StoredList? { try await read { try list(name, $0) } }

    struct StoredPage<Shown: Sendable>: Sendable {
        var list: StoredList?
        var lastUsed: Date?
        var rows: [Shown] = []
        var unreadableIDs: [String] = []
        /// Whether there are more stored rows after these rows.
        var hasMore = false
        /// The other items that are not in the list, in the requested order, with their stored data.
        var others: [(id: String, item: RemoteItem?)] = []
    }

    /// Returns rows of a list in order, or no rows if `id` is not in the list.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of rows. Items that are hidden or unreadable do not count, so that they do not
    ///     shorten the page.
    ///   - others: The IDs of items to look up if they are not in the list.
    ///   - read: Returns a row, or `nil` if the list does not show it. If this function throws an error, the item is
    ///     unreadable. The second parameter is whether there may be unknown rows before this one.
    func page<Shown: Sendable>(
        of name: String, after id: String? = nil, limit: Int, others: [String] = [],
        reading read: @escaping @Sendable (RemoteItem, _ followsGap: Bool) throws -> Shown?
    ) async throws -> StoredPage<Shown> {
        try await self.read { database in
            var page = StoredPage<Shown>()
            let find = try database.cachedStatement(
                sql: "SELECT n, key, as_of, sealed, last_used FROM list WHERE key = ?")
            let row = try Row.fetchOne(find, arguments: [Data(listKey(name))])
            let list = try row.map { try self.list($0) }
            page.list = list
            page.lastUsed = try row?.decode(Double?.self, atIndex: 4).map { Date(timeIntervalSince1970: $0) }
            for id in others where try list.flatMap({ try place(of: id, $0.number, database) }) == nil {
                page.others.append((id, try item(id, database)))
            }
            guard let list else { return page }
            var start = Place(segment: .min, position: .min)
            var segment: Int?
            if let id {
                guard let place = try place(of: id, list.number, database) else { return page }
                (start, segment) = (place, place.segment)
            }
            // `CROSS JOIN` makes SQLite read the entries in order, and stop when the page is full.
            let sql = """
                SELECT entry.segment, item.key, item.sealed, entry.position FROM entry CROSS JOIN item ON item.n = entry.item
                WHERE entry.list = ? AND (entry.segment, entry.position) > (?, ?)
                ORDER BY entry.segment, entry.position
                """
            let arguments: StatementArguments = [list.number, start.segment, start.position]
            let rows = try Row.fetchCursor(database.cachedStatement(sql: sql), arguments: arguments)
            var followsGap = false
            while let row = try rows.next() {
                // Avoid copying the key and the encrypted item.
                let item = try row.withUnsafeData(atIndex: 2) { sealed in
                    try row.withUnsafeData(atIndex: 1) { key in
                        try self.item(sealed ?? Data(), key: key ?? Data(), type: "item")
                    }
                }
                let own = try number(row[0])
                // A position of another type is damaged, and out of order.
                _ = try number(row[3])
                // If the first row after a gap is not shown, the next one follows the gap.
                if let segment, segment != own { followsGap = true }
                segment = own
                do {
                    guard let row = try read(item, followsGap) else { continue }
                    guard page.rows.count < limit else {
                        page.hasMore = true
                        break
                    }
                    page.rows.append(row)
                    followsGap = false
                } catch {
                    page.unreadableIDs.append(item.id)
                }
            }
            return page
        }
    }

    func place(of id: String, _ list: Int64, _ database: Database) throws -> Place? {
        let sql = "SELECT segment, position FROM entry WHERE item = (SELECT n FROM item WHERE key = ?) AND list = ?"
        let find = try database.cachedStatement(sql: sql)
        return try Row.fetchOne(find, arguments: [Data(itemKey(id)), list]).map {
            Place(segment: try $0.decode(atIndex: 0), position: try $0.decode(atIndex: 1))
        }
    }

    /// Returns the number of rows in a list, and the number of rows before the first gap.
    func count(of name: String) async throws -> (all: Int, first: Int) {
        try await read { database in
            guard let list = try list(name, database) else { return (0, 0) }
            let sql = "SELECT count(*), coalesce(sum(segment = ?), 0) FROM entry WHERE list = ?"
            let first = list.record.segments.first?.number ?? 0
            guard let row = try Row.fetchOne(database, sql: sql, arguments: [first, list.number]) else { return (0, 0) }
            return (try row.decode(atIndex: 0), try row.decode(atIndex: 1))
        }
    }

    /// Returns the ID of the last item before the first gap.
    func last(of name: String) async throws -> String? {
        try await read { database in
            guard let list = try list(name, database), let top = list.record.segments.first else { return nil }
            let sql = """
                SELECT item.key, item.sealed FROM entry JOIN item ON item.n = entry.item
                WHERE entry.list = ? AND entry.segment = ? ORDER BY entry.position DESC LIMIT 1
                """
            let row = try Row.fetchOne(database, sql: sql, arguments: [list.number, top.number])
            return try row.map {
                try item($0.decode(forColumn: "sealed"), key: $0.decode(forColumn: "key"), type: "item").id
            }
        }
    }

    func all() async throws -> [StoredList] {
        try await read { database in
            try Row.fetchAll(database, sql: "SELECT n, key, as_of, sealed FROM list ORDER BY n").map { try list($0) }
        }
    }

    /// Returns the validators of the first page. Returns `nil` if the list no longer contains a row of this page: a
    /// response with status 304 would confirm a row that is not stored.
    func validators(of name: String) async throws -> Validators? {
        try await read { database in
            guard let list = try list(name, database), let validators = list.record.validators,
                let keys = list.record.firstPage
            else { return nil }
            let find = try database.cachedStatement(
                sql: "SELECT 1 FROM item JOIN entry ON entry.item = item.n WHERE item.key = ? AND entry.list = ?")
            let length = itemKey("").count
            for start in stride(from: keys.startIndex, to: keys.endIndex, by: length) {
                let key = Data(keys[start..<min(start + length, keys.endIndex)])
                guard try Int.fetchOne(find, arguments: [key, list.number]) != nil else { return nil }
            }
            return validators
        }
    }

    func list(_ name: String, _ database: Database) throws -> StoredList? {
        let find = try database.cachedStatement(sql: "SELECT n, key, as_of, sealed FROM list WHERE key = ?")
        return try Row.fetchOne(find, arguments: [Data(listKey(name))]).map { try list($0) }
    }

    /// - Parameter row: Number, key, date and encrypted record, in this order.
    private func list(_ row: Row) throws -> StoredList {
        let key = try row.decode(Data.self, atIndex: 1)
        guard let bytes = seal.open(try row.decode(Data.self, atIndex: 3), type: "list", id: key) else {
            throw damaged
        }
        let record = try JSONDecoder().decode(ListRecord.self, from: Data(bytes))
        let asOf = try row.decode(Double?.self, atIndex: 2).map { Date(timeIntervalSince1970: $0) }
        return StoredList(number: try row.decode(atIndex: 0), record: record, asOf: asOf)
    }

    func item(_ sealed: Data, key: Data, type: String) throws -> RemoteItem {
        guard let item = SealedItem.open(sealed, type: type, key: key, seal) else { throw damaged }
        return item
    }

    /// Returns an integer. SQLite would convert any value to a number, but here a value of another type means damage.
    func number(_ value: DatabaseValue) throws -> Int {
        guard let number = Int.fromDatabaseValue(value) else { throw damaged }
        return number
    }

    var damaged: AccountError { AccountError(.damaged, "\(database.path) is damaged") }
    func itemKey(_ id: String) -> [UInt8] { seal.keyedID(id.utf8, type: "item") }
    func listKey(_ name: String) -> [UInt8] { seal.keyedID(name.utf8, type: "list") }
}
#endif
