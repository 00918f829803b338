#if Offline
import AccountSupport
import GRDB

extension ListDatabase {
    func byteCount(of name: String) async throws -> Int {
        try await read { database in
            guard let list = try list(name, database) else { return 0 }
            let sql =
                "SELECT coalesce(sum(length(sealed)), 0) FROM item JOIN entry ON entry.item = item.n WHERE list = ?"
            return try Int.fetchOne(database, sql: sql, arguments: [list.number]) ?? 0
        }
    }

    func use(_ name: String, at date: Date) async throws {
        try await write { database in
            try database.execute(
                sql: "UPDATE list SET last_used = ? WHERE key = ?",
                arguments: [date.timeIntervalSince1970, Data(listKey(name))])
        }
    }

    /// Removes the least recently used lists beyond the limit, and items that are in no list. The items in `objects`
    /// remain, because they have unsent changes.
    @discardableResult
    func evict(keeping objects: Set<String>) async throws -> Bool {
        let kept = Set(objects.map { Data(itemKey($0)) })
        guard try await read({ try Self.byteCount($0) }) > maximumBytes else { return false }
        let hasRemoved = try await write { database in
            var hasRemoved = false
            // Keep the last list, even if it is too large.
            let lists = try Int64.fetchAll(
                database, sql: "SELECT n FROM list ORDER BY coalesce(last_used, as_of, 0), n")
            for list in lists.dropLast() where try Self.byteCount(database) > maximumBytes {
                try database.execute(sql: "DELETE FROM entry WHERE list = ?", arguments: [list])
                try database.execute(
                    sql: "DELETE FROM page WHERE list = (SELECT key FROM list WHERE n = ?)", arguments: [list])
                try database.execute(sql: "DELETE FROM list WHERE n = ?", arguments: [list])
                hasRemoved = true
                for table in ["item", "detail"] {
                    let condition =
                        table == "item"
                        ? "NOT EXISTS (SELECT 1 FROM entry WHERE entry.item = item.n)"
                        : "NOT EXISTS (SELECT 1 FROM item WHERE item.key = detail.key)"
                    for key in try Data.fetchAll(database, sql: "SELECT key FROM \(table) WHERE \(condition)")
                    where !kept.contains(key) {
                        try database.execute(sql: "DELETE FROM \(table) WHERE key = ?", arguments: [key])
                    }
                }
            }
            return hasRemoved
        }
        guard hasRemoved else { return false }
        // Return free pages to the disk. If this fails, SQLite reuses them.
        try? await database.compact()
        return true
    }

    private static func byteCount(_ database: Database) throws -> Int {
        func number(_ name: String) throws -> Int { try Int.fetchOne(database, sql: "PRAGMA \(name)") ?? 0 }
        return try (number("page_count") - number("freelist_count")) * number("page_size")
    }
}
#endif
