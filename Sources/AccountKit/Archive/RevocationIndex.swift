import AccountSupport

/// The index of the sessions of a container that have queued revocations: an empty file for each session in
/// `Documents/Revocations`, with the session's name. With the index, a command that looks for the queues of other sessions
/// takes as long with 100,000 sessions as with one.
///
/// The storage of a session adds the session before it writes the first entry of the queue, and removes the session after
/// it has removed the last entry. After a crash or a failed write, the index may contain a session without entries.
package struct RevocationIndex: Sendable {
    private let container: AppContainer

    package init(container: AppContainer) { self.container = container }

    private var folder: ArchiveDirectory { container.folder(container.revocationsPath) }

    /// Returns the sessions in the index, by name.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/inaccessible``, or
    ///   ``AccountError/Code-swift.struct/insecureContainer`` if another user could have changed the index.
    package func sessions() throws(AccountError) -> [SessionName] {
        let folder = folder
        try folder.checkTrust()
        let names = try mapping(folder.path) { () throws(SystemCallError) in try SystemCall.names(in: folder.path) }
        return names.sorted().compactMap { name in try? SessionName(name) }
    }

    /// Adds a session durably. Requires the lock of the session.
    func insert(_ session: SessionName) throws(AccountError) {
        let folder = folder
        let isNew = try !folder.exists(with: session.rawValue)
        if isNew { try folder.make(before: session.rawValue) }
        try mapping(folder.path) { () throws(SystemCallError) in
            if isNew { _ = try FileDescriptor.openForUpdate(folder.path(session.rawValue)) }
            // A process may have died after it created the file.
            try SystemCall.synchronizeDirectory(folder.path)
        }
    }

    /// Removes a session whose queue is empty. Requires the lock of the session.
    func removeIfEmpty(_ session: SessionName) throws(AccountError) {
        guard !container.mayHaveRevocations(session) else { return }
        let path = folder.path(session.rawValue)
        try mapping(path) { () throws(SystemCallError) in
            // Do not remove a file that AccountKit did not create.
            guard let status = try SystemCall.status(path), status.kind == .regular, status.byteCount == 0 else {
                return
            }
            _ = try SystemCall.remove(path)
        }
    }
}
