#if Offline
import AccountKit
import GRDB
import Testing

@testable import AccountOffline

struct OfflineErrorTests {
    @Test func `Maps each kind of database error to an account error code`() {
        func code(_ result: ResultCode) -> AccountError.Code {
            AccountError(database: "Lists.sqlite", DatabaseError(resultCode: result)).code
        }
        #expect(code(.SQLITE_BUSY) == .busy)
        #expect(code(.SQLITE_FULL) == .inaccessible)
        #expect(code(.SQLITE_CORRUPT) == .damaged)
        #expect(code(.SQLITE_NOTADB) == .damaged)
        #expect(code(.SQLITE_IOERR) == .inaccessible)
        #expect(AccountError(database: "Lists.sqlite", CancellationError()).code == .cancelled)
    }
}
#endif
