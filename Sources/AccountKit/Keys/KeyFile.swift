import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A file of exactly 32 random bytes with mode 0600, made at the first sign-in; the default.
///
/// It protects copies and backups of the archive, which are made without it. It does not protect against someone who can
/// read all of the user's files.
public struct KeyFile: KeySource {
    /// Where the file is.
    public let path: String

    /// The file's folder.
    private let folder: ArchiveDirectory

    /// Whether the file is in the folders of an app. Elsewhere a key may be read from a folder of another user, such as root's,
    /// as long as the file itself is the user's.
    private let isInContainer: Bool

    /// A key file of one archive: it is replaced and removed with the archive's keys, so another archive that shared it would
    /// not open any more.
    ///
    /// - Parameter path: An absolute path. Folders on the way are made when the key is.
    public init(path: String) {
        self.path = path
        folder = ArchiveDirectory(path: path.parentDirectory, root: path.parentDirectory)
        isInContainer = false
    }

    /// The key file of a session: `Account.key` in the container's `keys` folder, that of a named session in
    /// `Sessions/<name>` there, as with the archives.
    public init(container: AppContainer, session: SessionName = .default) {
        folder = container.folder(
            container.keysPath + (session == .default ? "" : "/Sessions/" + session.rawValue))
        path = folder.path("Account.key")
        isInContainer = true
    }

    /// A file.
    public var kind: KeyKind { .keyFile }

    /// Reads the file; `nil` if there is none.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/insecureContainer`` if others can read it, if it belongs to another user, or if it is
    ///   in a folder of an app that others can write to, and
    ///   ``AccountError/Code-swift.struct/damaged`` if it does not have 32 bytes.
    public func key() async throws -> ArchiveKey? { try key(at: path) }

    private func key(at path: String) throws -> ArchiveKey? {
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
                    .insecureContainer, "others can use the key file \(path): run `chmod 600 \(path.shellWord)`")
            }
            var count = 0
            let bytes = try GuardedBytes(count: 32) { buffer throws(SystemCallError) in
                count = try file.read(into: buffer)
            }
            guard count == 32, try file.isAtEnd() else {
                throw AccountError(
                    .damaged, "the key file \(path) does not have 32 bytes: put the right one there, from a backup")
            }
            return ArchiveKey(guarded: bytes)
        } catch let error as SystemCallError where error.isNoEntry {
            return nil
        } catch let error as SystemCallError {
            throw AccountError(.inaccessible, "the key file \(path) cannot be read", cause: error)
        }
    }

    /// Makes the file, unless another process has just done so; then its key counts.
    public func makeKey() async throws -> ArchiveKey {
        try await BlockingWork.run { try makeFile() }
    }

    /// The file is replaced and removed with its slot.
    public var storage: (any KeyStorage)? { StoredKeyFile(file: self) }

    private func makeFile() throws -> ArchiveKey {
        try folder.make(before: path.lastComponent)
        try write(.random()) { temporary throws(SystemCallError) in
            do throws(SystemCallError) {
                // A link fails if there is a file already, a rename would replace it.
                _ = try SystemCall.link(temporary, as: path)
            } catch  where error.isNoEntry {
                // Whoever was faster has tidied up.
            }
        }
        guard let stored = try key(at: path) else {
            throw AccountError(.inaccessible, "the key file \(path) was removed as soon as it was made")
        }
        return stored
    }

    /// Writes a key to a file beside this one, and lets `body` put it in its place once it is on the disk.
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

    // MARK: As ``KeyStorage`` says

    private var successor: String { path + ".next" }
    private var predecessor: String { path + ".old" }

    fileprivate func makeSuccessor() throws(AccountError) -> ArchiveKey {
        try folder.make(before: path.lastComponent)
        let key = ArchiveKey.random()
        try write(key) { temporary throws(SystemCallError) in try SystemCall.rename(temporary, to: successor) }
        return key
    }

    fileprivate func installSuccessor() throws(AccountError) {
        try mapping(path) { () throws(SystemCallError) in
            try SystemCall.remove(predecessor)
            _ = try SystemCall.link(path, as: predecessor)
            try SystemCall.rename(successor, to: path)
            try SystemCall.synchronizeDirectory(folder.path)
        }
    }

    fileprivate func unfinished() throws -> [ArchiveKey] {
        try [successor, predecessor].compactMap { path in
            do {
                return try key(at: path)
            } catch let error as AccountError where error.code == .damaged {
                // No key, so no archive opens with it.
                return nil
            }
        }
    }

    fileprivate func hasReplacement() throws(AccountError) -> Bool {
        try mapping(path) { () throws(SystemCallError) in
            if try SystemCall.status(successor) != nil { return true }
            return try SystemCall.status(predecessor) != nil
        }
    }

    fileprivate func forgetReplacement() throws(AccountError) {
        try mapping(path) { () throws(SystemCallError) in
            let hadSuccessor = try SystemCall.remove(successor)
            let hadPredecessor = try SystemCall.remove(predecessor)
            if hadSuccessor || hadPredecessor { try SystemCall.synchronizeDirectory(folder.path) }
        }
    }

    fileprivate func remove() throws(AccountError) {
        try mapping(path) { () throws(SystemCallError) in
            try SystemCall.remove(path)
            try SystemCall.synchronizeDirectory(folder.path)
        }
    }

    fileprivate func settle() throws(AccountError) {
        for leftover in try leftovers() {
            // What cannot be removed is in nobody's way.
            _ = try? SystemCall.remove(leftover)
        }
        try mapping(path) { () throws(SystemCallError) in try SystemCall.synchronizeDirectory(folder.path) }
    }

    /// What processes that died while they wrote a key left behind.
    package func leftovers() throws(AccountError) -> [String] {
        let prefix = path.lastComponent + "."
        return try mapping(folder.path) { () throws(SystemCallError) in
            try SystemCall.names(in: folder.path).filter { name in
                guard name.hasPrefix(prefix), name.hasSuffix(".tmp") else { return false }
                let digits = name.dropFirst(prefix.count).dropLast(4)
                return (1...16).contains(digits.utf8.count) && digits.allSatisfy { $0.isHexDigit && !$0.isUppercase }
            }.map { folder.path($0) }
        }
    }
}

/// Away from the threads that tasks share, since the disk may have to be waited for.
private struct StoredKeyFile: KeyStorage {
    let file: KeyFile

    func settle() async throws { try await BlockingWork.run { try file.settle() } }
    func makeSuccessor() async throws -> ArchiveKey { try await BlockingWork.run { try file.makeSuccessor() } }
    func installSuccessor() async throws { try await BlockingWork.run { try file.installSuccessor() } }
    func hasReplacement() async throws -> Bool { try file.hasReplacement() }
    func unfinishedReplacement() async throws -> [ArchiveKey] { try file.unfinished() }
    func forgetReplacement() async throws { try await BlockingWork.run { try file.forgetReplacement() } }
    func remove() async throws { try await BlockingWork.run { try file.remove() } }
}
