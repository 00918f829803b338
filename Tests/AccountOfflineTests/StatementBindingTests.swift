#if Offline
import Foundation
import GRDB
import Testing

@testable import AccountOffline

@Suite struct StatementBindingTests {
    @Test func `Binds SQL arguments in order and separately for each run`() throws {
        let queue = try DatabaseQueue()
        try queue.write { database in
            try database.execute(sql: "CREATE TABLE row(a INTEGER, b INTEGER, c BLOB)")
            let insert = try database.cachedStatement(sql: "INSERT INTO row VALUES (?, ?, ?)")
            for number in 1...3 {
                try insert.bound(to: Int64(number), number * 10, Data([UInt8(number)])).execute()
            }
            let find = try database.cachedStatement(sql: "SELECT a, c FROM row WHERE b = ?")
            for number in 1...4 {
                let found = try Row.fetchAll(find.bound(to: number * 10))
                #expect(try found.map { try $0.decode(Int.self, atIndex: 0) } == (number < 4 ? [number] : []))
                #expect(
                    try found.map { try $0.decode(Data.self, atIndex: 1) }
                        == (number < 4 ? [Data([UInt8(number)])] : []))
            }
            let delete = try database.cachedStatement(sql: "DELETE FROM row WHERE a = ? AND b = ?")
            for number in [1, 3] { try delete.bound(to: Int64(number), number * 10).execute() }
            #expect(try Int.fetchAll(database, sql: "SELECT a FROM row") == [2])
        }
    }
}
#endif
