#if Offline
import AccountKit
import GRDB

extension AccountError {
    init(database name: String, _ error: any Error) {
        switch error {
        case let error as AccountError: self = error
        case is CancellationError: self.init(.cancelled, "cancelled: \(name) was not changed")
        case let error as DatabaseError where error.resultCode == .SQLITE_BUSY || error.resultCode == .SQLITE_LOCKED:
            self.init(.busy, "another process has been using \(name) for too long: try again", cause: error)
        case let error as DatabaseError where error.resultCode == .SQLITE_FULL:
            self.init(
                .inaccessible,
                "\(name) cannot be saved, since the disk is full or its maximum size is reached: it was not changed",
                cause: error)
        case let error as DatabaseError
        // `SQLITE_ERROR` means that a statement does not compile, because the schema is not the schema of this module.
        where [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR].contains(error.resultCode):
            self.init(.damaged, "\(name) is damaged", hint: Self.adviceIfDamaged, cause: error)
        // Their texts name Swift types.
        case is RowDecodingError, is DecodingError:
            self.init(.damaged, "\(name) is damaged", hint: Self.adviceIfDamaged)
        default: self.init(.inaccessible, "\(name) cannot be used", cause: error)
        }
    }

    private static let adviceIfDamaged = "restore a backup, or move it away to continue without its content"
}
#endif
