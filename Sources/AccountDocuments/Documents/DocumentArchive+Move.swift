import AccountKit
import AccountSupport

extension DocumentArchive {
    /// Moves the value and the files of another document to this document, for example to encrypt them, and removes the
    /// other document.
    ///
    /// ```swift
    /// try await sealed.moveContents(of: plain, from: []) { notes, others in
    ///     notes += others.filter { !notes.contains($0) }
    /// }
    /// ```
    ///
    /// After a crash, each value and each file is in at least one of the documents, because this document is durable
    /// before AccountKit empties and removes the other document. You can therefore repeat the move after any error.
    /// Files keep their IDs. Both documents are locked during the move. Unencrypted data may remain in unused blocks of
    /// the disk.
    ///
    /// - Parameters:
    ///   - other: A document without encryption.
    ///   - initial: The initial value of this document if it does not exist yet, and the last value of the other
    ///     document before its removal.
    ///   - timeout: How long to wait for other processes, for each of the documents.
    ///   - isolation: The actor on which to run. The default is the caller's actor.
    ///   - merge: A closure that changes the value of this document. It must add the content of the other document,
    ///     except content that an earlier attempt has already added. If it throws an error, the documents stay
    ///     unchanged.
    /// - Returns: The result of `merge`, or `nil` if there is no other document.
    /// - Throws: The errors of ``change(from:adding:timeout:isolation:_:)``, for either document.
    @discardableResult
    public func moveContents<Result>(
        of other: DocumentArchive, from initial: Value, timeout: Duration = .seconds(10),
        isolation: isolated (any Actor)? = #isolation,
        _ merge: (_ value: inout Value, _ other: Value) throws -> Result
    ) async throws -> Result? {
        guard other.codec.seal == nil, other.path != path else {
            throw AccountError(.invalidArgument, "\(other.path) is not a document in plain text")
        }
        return try await other.storage.withTransaction(timeout: timeout) { source in
            // A closure runs on the caller's actor only if it captures `isolation`.
            try await move(other, source, from: initial, timeout: timeout, isolation: isolation, merge)
        }
    }

    private func move<Result>(
        _ other: DocumentArchive, _ source: any ArchiveTransaction, from initial: Value, timeout: Duration,
        isolation: isolated (any Actor)? = #isolation, _ merge: (inout Value, Value) throws -> Result
    ) async throws -> Result? {
        guard let stored = try await source.read(other.entry) else {
            if let files = other.attachments?.files, try files.hasFiles() { throw other.missing(files) }
            return nil
        }
        let value = try other.codec.decode(stored.bytes)
        let others = other.attachments?.files
        let result = try await storage.withTransaction(timeout: timeout) { transaction in
            try await change(
                from: initial, staged: nil, in: transaction, isolation: isolation,
                placing: { added, mine throws(AccountError) in
                    guard let others else { return }
                    // Copy one file at a time, because each file stays open until it has its final name.
                    for id in added { try mine.commit([mine.stage(id, of: others)]) }
                }
            ) { mine in try merge(&mine, value) }
        }
        try await other.removeAll(stored.revision, leaving: initial, in: source)
        return result
    }

    /// Removes this document. AccountKit saves the value `initial` before it removes the files, so the document never
    /// refers to a missing file.
    private func removeAll(
        _ revision: ArchiveRevision, leaving initial: Value, in transaction: any ArchiveTransaction
    ) async throws {
        let receipt = try await transaction.replace(entry, with: codec.encode(initial), ifRevision: revision)
        try check(receipt.durability)
        if let files = attachments?.files {
            try await BlockingWork.run { () throws(AccountError) in
                files.sweep(keeping: [])
                guard try !files.hasFiles() else {
                    throw AccountError(
                        .inaccessible,
                        "the files in \(files.path) have been copied, but could not be removed", hint: "try again")
                }
            }
        }
        try check(try await transaction.remove(entry, ifRevision: receipt.revision))
    }
}
