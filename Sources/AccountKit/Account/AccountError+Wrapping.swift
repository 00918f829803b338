extension AccountError {
    /// Converts an error. `cancelled` and `failure` are the messages for a cancellation and for an error of another
    /// type.
    package init(
        wrapping error: any Error,
        cancelled: String = "cancelled while waiting for the archive: nothing was changed",
        failure: String = "the storage failed"
    ) {
        switch error {
        case let error as AccountError: self = error
        case is CancellationError: self.init(.cancelled, cancelled)
        default: self.init(.inaccessible, failure, cause: error)
        }
    }

    /// Returns the result of `body`, or throws its error as an `AccountError`.
    static func wrappingErrors<Value>(_ body: () async throws -> Value) async throws(AccountError) -> Value {
        do {
            return try await body()
        } catch {
            throw AccountError(wrapping: error)
        }
    }
}

extension UnverifiedReason.Code {
    init(savingFailure error: any Error) {
        self =
            switch (error as? AccountError)?.code {
            // Another process acquired the lock or the lease, or changed the entry.
            case .busy, .conflict: .busy
            case .storeUnreachable: .storeUnreachable
            default: .cannotSave
            }
    }
}
