import AccountCrypto
import AccountSupport

/// A file with exactly 32 random bytes and mode 0600, which the first sign-in creates.
package struct KeyFile: KeyProvider {
    /// The path of the file.
    package let path: String

    private let folder: ArchiveDirectory

    /// Outside a container, the folder may belong to another user, such as root, if the file itself belongs to the
    /// user.
    let isInContainer: Bool

    /// What to do if the file is damaged.
    private let repair: String

    /// Creates the key file at an absolute path, outside a container.
    package init(path: String) {
        self.path = path
        folder = ArchiveDirectory(path: path.parentDirectory, root: path.parentDirectory)
        isInContainer = false
        repair = Self.restore
    }

    /// Creates the key file of a session.
    package init(container: AppContainer, session: SessionName = .default) {
        folder = container.folder(
            container.keysPath + (session == .default ? "" : "/Sessions/" + session.rawValue))
        path = folder.path("Account.key")
        isInContainer = true
        repair = Self.restore
    }

    /// The key file beside `file` that a rotation writes.
    private init(beside file: KeyFile, extension name: String) {
        path = "\(file.path).\(name)"
        (folder, isInContainer, repair) = (file.folder, file.isInContainer, "remove the file")
    }

    /// The old and the new key while a rotation is in progress, so that a later rotation can complete one that a crash
    /// interrupted.
    var rotation: (previous: KeyFile, next: KeyFile) {
        (
            KeyFile(beside: self, extension: "rotation-previous"), KeyFile(beside: self, extension: "rotation-next")
        )
    }

    private static let restore = "restore the right key file from a backup"

    /// Creates the key file of the registrations in a container: `Clients/Registrations.key` in the
    /// container's `keys` folder.
    package init(registrationsIn container: AppContainer) {
        folder = container.folder(container.keysPath + "/Clients")
        path = folder.path("Registrations.key")
        isInContainer = true
        repair =
            "remove the file with `rm \(path.shellWord)`: the next sign-in registers the app again, and sessions stay "
            + "signed in"
    }

    package var kind: KeyKind { .keyFile }

    package var place: String? { "at \(path.shellWord)" }

    /// Returns the key in the file; `nil` if there is no file.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/insecureContainer`` if other users can read the file, if it belongs
    ///   to another user, or if other users can write to its folder in a container;
    ///   ``AccountError/Code-swift.struct/damaged`` if the file does not have exactly 32 bytes;
    ///   ``AccountError/Code-swift.struct/invalidArgument`` if the path is not absolute.
    package func key() async throws -> ArchiveKey? { try storedKey() }

    private func storedKey() throws -> ArchiveKey? {
        try requireAbsolutePath()
        if isInContainer { try folder.checkTrust() }
        do {
            let file = try FileDescriptor.openForReading(path)
            let status = try file.status()
            guard status.kind == .regular else {
                throw AccountError(.inaccessible, "\(path) is not a file: put the key file there")
            }
            guard status.owner == SystemCall.effectiveUser else {
                throw AccountError(
                    .insecureContainer,
                    "the key file \(path) \(SystemCall.ownership(status.owner))")
            }
            guard status.permissions & 0o077 == 0 else {
                throw AccountError(
                    .insecureContainer, "other users can read or change the key file \(path)",
                    hint: "run `chmod 600 \(path.shellWord)`"
                )
            }
            var count = 0
            let bytes = try GuardedBytes(count: 32) { buffer throws(SystemCallError) in
                count = try file.read(into: buffer)
            }
            guard count == 32, try file.isAtEnd() else {
                throw AccountError(
                    .damaged, "the key file \(path) does not have 32 bytes",
                    hint: repair)
            }
            return ArchiveKey(guarded: bytes)
        } catch let error as SystemCallError where error.isNoEntry {
            return nil
        } catch let error as SystemCallError {
            throw AccountError(.inaccessible, "the key file \(path) cannot be read", cause: error)
        }
    }

    private func requireAbsolutePath() throws(AccountError) {
        guard path.hasPrefix("/") else {
            throw AccountError(
                .invalidArgument, "the path of the key file, \"\(path)\", is not absolute",
                hint: "specify a path that begins with /")
        }
    }

    /// Creates the file, or returns the key of a file that another process has just created.
    package func makeKey() async throws -> ArchiveKey {
        try await BlockingWork.run { try makeFile() }
    }

    private func makeFile() throws -> ArchiveKey {
        try requireAbsolutePath()
        try folder.make(before: path.lastComponent)
        try write(.random()) { temporary throws(SystemCallError) in
            do throws(SystemCallError) {
                // Creating a link fails if the file exists. A rename would replace the file.
                _ = try SystemCall.link(temporary, as: path)
            } catch  where error.isNoEntry {
                // Another process has already removed the temporary file.
            }
        }
        guard let stored = try storedKey() else {
            throw AccountError(.inaccessible, "another program removed the new key file \(path)")
        }
        return stored
    }

    /// Writes a key durably to a temporary file, and calls `body` to move the file to its final path.
    private func write(
        _ key: ArchiveKey, _ body: (_ temporary: String) throws(SystemCallError) -> Void
    ) throws(AccountError) {
        guard case .key(let bytes) = key.opener else { preconditionFailure("a key file holds 32 bytes") }
        try mapping(path) { () throws(SystemCallError) in
            let temporary = "\(path).\(Sodium.randomBytes(count: 8).hexadecimal).tmp"
            let file = try FileDescriptor.create(temporary)
            defer { _ = try? SystemCall.remove(temporary) }
            try file.setPermissions(0o600)
            try bytes.withUnsafeBytes { bytes throws(SystemCallError) in try file.write(bytes) }
            try file.synchronize()
            try body(temporary)
            try SystemCall.synchronizeDirectory(folder.path)
        }
    }

    /// Returns the temporary files of processes that died while they wrote a key.
    package func leftovers() throws(AccountError) -> [String] {
        let prefixes = [self, rotation.previous, rotation.next].map { $0.path.lastComponent + "." }
        return try mapping(folder.path) { () throws(SystemCallError) in
            try SystemCall.names(in: folder.path).filter { name in
                prefixes.contains { prefix in
                    guard name.hasPrefix(prefix), name.hasSuffix(".tmp") else { return false }
                    let digits = name.dropFirst(prefix.count).dropLast(4)
                    return (1...16).contains(digits.utf8.count)
                        && digits.allSatisfy { $0.isHexDigit && !$0.isUppercase }
                }
            }.map { folder.path($0) }
        }
    }
}

/// Accesses the file system outside the threads that run tasks, since the disk may be slow.
extension KeyFile {
    /// Makes sure that the key survives a power cut. AccountKit calls this function before the key encrypts an archive
    /// for the first time, since the process that created the key may have died before the key was durable.
    func settle() async throws {
        try await BlockingWork.run {
            for leftover in try leftovers() {
                // A file that cannot be removed does no harm.
                _ = try? SystemCall.remove(leftover)
            }
            try mapping(path) { () throws(SystemCallError) in try SystemCall.synchronizeDirectory(folder.path) }
        }
    }

    /// Stores a key durably, in place of another one, in one step. AccountKit replaces the key of an archive while the
    /// archive is locked and opens with both keys.
    func replace(with key: ArchiveKey) async throws {
        try await BlockingWork.run {
            try write(key) { temporary throws(SystemCallError) in try SystemCall.rename(temporary, to: path) }
        }
    }

    /// Removes the key, because it no longer opens an archive.
    func remove() async throws { try await remove([path, rotation.previous.path, rotation.next.path]) }

    /// Removes the keys of a rotation.
    func endRotation() async throws { try await remove([rotation.previous.path, rotation.next.path]) }

    private func remove(_ paths: [String]) async throws {
        try await BlockingWork.run {
            try mapping(path) { () throws(SystemCallError) in
                for path in paths { try SystemCall.remove(path) }
                try SystemCall.synchronizeDirectory(folder.path)
            }
        }
    }
}
