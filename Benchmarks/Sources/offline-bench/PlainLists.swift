import AccountOffline
import Foundation
import GRDB

/// What an app would do without sealing: the same rows and the same query, with the same library.
struct PlainLists {
    private let queue: DatabaseQueue

    init(path: String, _ remote: BenchRemote) throws {
        queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try queue.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS item(n INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, json BLOB NOT NULL);
                    CREATE TABLE IF NOT EXISTS list(n INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, as_of REAL, json BLOB);
                    CREATE TABLE IF NOT EXISTS entry(
                        list INTEGER NOT NULL, segment INTEGER NOT NULL, position INTEGER NOT NULL, item INTEGER NOT NULL,
                        PRIMARY KEY(list, segment, position));
                    CREATE UNIQUE INDEX IF NOT EXISTS entry_item ON entry(item, list);
                    CREATE TABLE IF NOT EXISTS change(n INTEGER PRIMARY KEY, json BLOB);
                    DELETE FROM item; DELETE FROM entry; DELETE FROM list;
                    INSERT INTO list VALUES (1, 'mine', 1, '{"name":"mine"}');
                    """)
            for number in 0..<remote.count {
                let item = remote.item(number)
                try database.execute(
                    sql: "INSERT INTO item VALUES (?, ?, ?)", arguments: [number + 1, item.id, item.json])
                try database.execute(sql: "INSERT INTO entry VALUES (1, 1, ?, ?)", arguments: [number, number + 1])
            }
        }
    }

    /// The first thirty rows, read as a list of this package is: what is known of it, its rows, and what waits to be sent.
    func page() async throws -> [BenchGist] {
        let known = try await queue.read { try Data.fetchOne($0, sql: "SELECT json FROM list WHERE key = 'mine'") }
        precondition(known != nil)
        let rows = try await queue.read { database in
            try Data.fetchAll(
                database,
                sql: """
                    SELECT item.json FROM entry JOIN item ON item.n = entry.item
                    WHERE entry.list = 1 AND (entry.segment, entry.position) > (?, ?)
                    ORDER BY entry.segment, entry.position LIMIT 31
                    """, arguments: [Int.min, Int.min])
        }
        let waiting = try await queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM change") }
        precondition(waiting == 0)
        return try rows.prefix(30).map { try JSONDecoder().decode(BenchGist.self, from: $0) }
    }
}
