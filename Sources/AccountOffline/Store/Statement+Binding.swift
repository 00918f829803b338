#if Offline
import GRDB

extension Statement {
    /// Sets the arguments one by one. Passing an array of arguments would take longer than inserting a short row.
    func bound<each Value: StatementBinding>(to values: repeat each Value) throws -> Statement {
        // From now on, the statement runs with its bound values and requires no arguments.
        setUncheckedArguments([])
        var index: CInt = 0
        for value in repeat each values {
            index += 1
            let status = value.bind(to: sqliteStatement, at: index)
            guard status == 0 else { throw DatabaseError(resultCode: ResultCode(rawValue: status)) }
        }
        return self
    }
}
#endif
