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
