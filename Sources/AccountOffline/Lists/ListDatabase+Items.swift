#if Offline
import AccountSupport
import GRDB

/// Single items: their stored version, their details, and the lists that contain them.
extension ListDatabase {
    func item(_ id: String) async throws -> RemoteItem? { try await read { try item(id, $0) } }

    func item(_ id: String, _ database: Database) throws -> RemoteItem? {
        let key = Data(itemKey(id))
        let sealed = try Data.fetchOne(database, sql: "SELECT sealed FROM item WHERE key = ?", arguments: [key])
        return try sealed.map { try item($0, key: key, type: "item") }
    }

    /// Returns the last date at which a list with this item was requested, and whether the lists contain another version
    /// of the item than when its detail was stored.
    func standing(ofItem id: String) async throws -> (asOf: Date?, hasChanged: Bool) {
        try await read { database in
            let key = Data(itemKey(id))
            let asOf = try Double.fetchOne(
                database,
                sql: """
                    SELECT max(list.as_of) FROM item JOIN entry ON entry.item = item.n JOIN list ON list.n = entry.list
                    WHERE item.key = ?
                    """, arguments: [key])
            let hasChanged = try Bool.fetchOne(
                database,
                sql: """
                    SELECT item.digest IS NOT (SELECT listed FROM detail WHERE detail.key = item.key) FROM item
                    WHERE item.key = ?
                    """, arguments: [key])
            return (asOf.map { Date(timeIntervalSince1970: $0) }, hasChanged ?? false)
        }
    }

    func detail(of id: String) async throws -> (item: RemoteItem, asOf: Date)? {
        try await read { database in
            let key = Data(itemKey(id))
            guard
                let row = try Row.fetchOne(
                    database, sql: "SELECT as_of, sealed FROM detail WHERE key = ?", arguments: [key])
            else { return nil }
            return (
                try item(row.decode(forColumn: "sealed"), key: key, type: "detail"),
                Date(timeIntervalSince1970: try row.decode(forColumn: "as_of"))
            )
        }
    }

    /// Inserts an item that this machine has created or changed at the position where the service will list it.
    func put(_ item: RemoteItem, firstIn lists: [String]) async throws {
        let sealed = SealedItem(item, seal)
        try await write { database in
            let stored = try ItemWriter(database).write(sealed)
            for name in lists {
                guard var list = try list(name, database), let top = list.record.segments.first else { continue }
                try EntryWriter(list: list.number, database).insertFirst(stored, segment: top.number)
                // The validators confirm a page without this row.
                list.record.validators = nil
                try save(list, database)
            }
            try remove([stored.number], isGone: false, database)
        }
    }

    func remove(_ id: String, from lists: [String]) async throws {
        try await write { database in
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
        try await write { database in
            let key = itemKey(item.id)
            let sealed = SealedItem.seal(item, type: "detail", key: key, seal)
            try database.execute(
                sql: """
                    INSERT OR REPLACE INTO detail(key, as_of, listed, sealed)
                    VALUES (?, ?, (SELECT digest FROM item WHERE key = ?), ?)
                    """, arguments: [Data(key), date.timeIntervalSince1970, Data(key), sealed])
        }
    }

    func removeItem(_ id: String) async throws {
        try await write { database in
            let key = Data(itemKey(id))
            try database.execute(sql: "DELETE FROM detail WHERE key = ?", arguments: [key])
            let number = try Int64.fetchOne(database, sql: "SELECT n FROM item WHERE key = ?", arguments: [key])
            if let number { try remove([number], isGone: true, database) }
        }
    }
}
#endif
