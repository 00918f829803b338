#if Offline
import AccountKit
import GRDB

extension AccountError {
    /// Wraps an error of a database of this module.
    init(database name: String, _ error: any Error) {
        switch error {
        case let error as AccountError: self = error
        case is CancellationError: self.init(.cancelled, "cancelled: \(name) is as it was before")
        case let error as DatabaseError where error.resultCode == .SQLITE_BUSY || error.resultCode == .SQLITE_LOCKED:
            self.init(.busy, "another process has been using \(name) for too long: try again", cause: error)
        case let error as DatabaseError where error.resultCode == .SQLITE_FULL:
            self.init(
                .inaccessible,
                "\(name) cannot be saved, since the disk is full, or it is as large as it may get: it is as it was "
                    + "before", cause: error)
        case let error as DatabaseError
        // A statement that cannot be compiled any more: a table is not what this module made of it.
        where [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR].contains(error.resultCode):
            self.init(.damaged, "\(name) is damaged", cause: error)
        // A value of another type than was stored.
        case is RowDecodingError, is DecodingError: self.init(.damaged, "\(name) is damaged", cause: error)
        default: self.init(.inaccessible, "\(name) cannot be used", cause: error)
        }
    }
}
#endif
