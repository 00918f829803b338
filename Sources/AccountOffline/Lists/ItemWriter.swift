#if Offline
import AccountSupport
import GRDB

struct ItemWriter {
    private let database: Database
    // Keep the statements: looking up a statement by its text for each row would take as long as inserting a short row.
    private let find, insert, update: Statement

    init(_ database: Database) throws {
        self.database = database
        find = try database.cachedStatement(sql: "SELECT n, digest FROM item WHERE key = ?")
        insert = try database.cachedStatement(sql: "INSERT INTO item(key, digest, sealed) VALUES (?, ?, ?)")
        update = try database.cachedStatement(sql: "UPDATE item SET digest = ?, sealed = ? WHERE n = ?")
    }

    func write(_ item: SealedItem) throws -> EntryWriter.Item {
        let stamp = item.digest.prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let rows = try Row.fetchCursor(find.bound(to: item.key))
        // Keep the cursor alive: a row is valid only as long as its cursor.
        let stored = try withExtendedLifetime(rows) {
            try rows.next().map {
                (number: try $0.decode(Int64.self, atIndex: 0), digest: try $0.decode(Data.self, atIndex: 1))
            }
        }
        guard let stored else {
            try insert.bound(to: item.key, item.digest, item.bytes).execute()
            return .init(number: database.lastInsertedRowID, stamp: stamp, isNew: true)
        }
        if stored.digest != item.digest { try update.bound(to: item.digest, item.bytes, stored.number).execute() }
        return .init(number: stored.number, stamp: stamp)
    }
}
#endif
