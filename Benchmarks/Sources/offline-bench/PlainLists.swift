import AccountOffline
import Foundation
import GRDB

/// An app without encryption: the same rows and the same query, with the same library.
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
                    """)
            try database.execute(
                sql: "INSERT INTO list VALUES (1, 'mine', 1, ?)", arguments: [JSONEncoder().encode(List())])
            for number in 0..<remote.count {
                let item = remote.item(number)
                try database.execute(
                    sql: "INSERT INTO item VALUES (?, ?, ?)", arguments: [number + 1, item.id, item.json])
                try database.execute(sql: "INSERT INTO entry VALUES (1, 1, ?, ?)", arguments: [number, number + 1])
            }
        }
    }

    /// The metadata of a list, as in this package.
    private struct List: Codable {
        struct Segment: Codable {
            var number = 0
            var next: String?
        }

        struct Validators: Codable {
            var request = "/0 "
            var entityTag: String? = "\"1\""
            var lastModified: String?
        }

        var name = "mine"
        var segments = [Segment()]
        var next: String? = "100"
        var validators: Validators? = Validators()
        var emptySince: Date?
    }

    /// Reads the first thirty rows like a list of this package: the metadata, the rows, and the pending changes.
    func page() async throws -> [BenchGist] {
        let rows = try await queue.read { database in
            let find = try database.cachedStatement(sql: "SELECT json FROM list WHERE key = ?")
            let list = try Data.fetchOne(find, arguments: ["mine"]).map {
                try JSONDecoder().decode(List.self, from: $0)
            }
            precondition(list?.segments.isEmpty == false)
            let statement = try database.cachedStatement(
                sql: """
                    SELECT item.json FROM entry JOIN item ON item.n = entry.item
                    WHERE entry.list = 1 AND (entry.segment, entry.position) > (?, ?)
                    ORDER BY entry.segment, entry.position LIMIT 31
                    """)
            return try Data.fetchAll(statement, arguments: [Int.min, Int.min])
        }
        let waiting = try await queue.unsafeRead { database in
            try Data.fetchAll(database.cachedStatement(sql: "SELECT json FROM change ORDER BY n"))
        }
        precondition(waiting.isEmpty)
        let decoder = JSONDecoder()
        return try rows.prefix(30).map { try decoder.decode(BenchGist.self, from: $0) }
    }
}
