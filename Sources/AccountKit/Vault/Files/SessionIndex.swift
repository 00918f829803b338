import AccountSupport

/// The index of the sessions of a container whose folders contain certain entries: an empty file for each session, with the
/// session's name. With the index, a command that looks for these entries takes as long with 100,000 sessions as with one.
///
/// The storage of a session adds the session before it writes the first of these entries, and removes the session after it
/// has removed the last one. After a crash or a failed write, the index may contain a session without such entries.
package struct SessionIndex: Sendable {
    private let container: AppContainer
    private let folder: ArchiveDirectory
    private let entries: [ArchiveEntry]

    init(_ entries: [ArchiveEntry], at path: String, in container: AppContainer) {
        self.entries = entries
        self.container = container
        folder = container.folder(path)
    }

    func contains(_ entry: ArchiveEntry) -> Bool { entries.contains(entry) }

    /// Returns the sessions in the index, by name.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/inaccessible``, or
    ///   ``AccountError/Code-swift.struct/insecureContainer`` if another user could have changed the index.
    package func sessions() throws(AccountError) -> [SessionName] {
        try folder.checkTrust()
        let names = try mapping(folder.path) { () throws(SystemCallError) in try SystemCall.names(in: folder.path) }
        return names.sorted().compactMap { name in try? SessionName(name) }
    }

    /// Returns whether the folder of a session contains one of the entries. The result is `true` if the folder cannot be
    /// listed. This function opens no file, so it is fast enough for thousands of sessions.
    package func mayHaveEntries(_ session: SessionName) -> Bool {
        guard let names = try? SystemCall.names(in: container.directory(of: session)) else { return true }
        return names.contains { name in entries.contains { $0.rawValue == name } }
    }

    /// Adds a session durably. Requires the lock of the session.
    func insert(_ session: SessionName) throws(AccountError) {
        let isNew = try !folder.exists(with: session.rawValue)
        if isNew { try folder.make(before: session.rawValue) }
        try mapping(folder.path) { () throws(SystemCallError) in
            if isNew { _ = try FileDescriptor.openForUpdate(folder.path(session.rawValue)) }
            // A process may have died after it created the file.
            try SystemCall.synchronizeDirectory(folder.path)
        }
    }

    /// Removes a session whose folder contains none of the entries. Requires the lock of the session.
    func removeIfEmpty(_ session: SessionName) throws(AccountError) {
        guard !mayHaveEntries(session) else { return }
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

/// The folders of a container.
extension AppContainer {
    /// Returns a folder of the container. The check of its trust includes each folder between this folder and the root
    /// of its tree.
    package func folder(_ path: String) -> ArchiveDirectory {
        let roots = [root, preferencesPath, cachesPath, keysPath, temporaryPath]
        return ArchiveDirectory(path: path, root: roots.first { path == $0 || path.hasPrefix($0 + "/") } ?? path)
    }

    /// Returns the sessions that have stored data: the default one first, then the others by name.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/inaccessible``, or
    ///   ``AccountError/Code-swift.struct/insecureContainer`` if another user could have changed the list.
    public func sessions() throws(AccountError) -> [SessionName] {
        try folder(documentsPath + "/Sessions").checkTrust()
        return try listedSessions()
    }

    /// Returns the sessions, even if another user could have changed the list.
    package func listedSessions() throws(AccountError) -> [SessionName] {
        do {
            var sessions: [SessionName] = []
            if try SystemCall.status(directory(of: .default) + "/" + ArchiveEntry.account.rawValue) != nil {
                sessions.append(.default)
            }
            let names = try SystemCall.names(in: documentsPath + "/Sessions").sorted()
            // Ignore names that are not valid session names.
            return sessions + names.compactMap { name in try? SessionName(name) }.filter { $0 != .default }
        } catch {
            throw AccountError(.inaccessible, "the sessions cannot be listed", cause: error)
        }
    }
}
