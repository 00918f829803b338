#if Offline
import GRDB

extension Statement {
    /// Sets the arguments one by one. An array of them, as usual, takes longer than to insert a short row.
    ///
    /// - Returns: The statement.
    func bound<each Value: StatementBinding>(to values: repeat each Value) throws -> Statement {
        // From now on it runs with what is bound, and does not ask for arguments.
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
