import AccountKit
import AccountCrypto
import AccountSupport

/// The files of a document, in a folder with its name.
///
/// AccountKit stages a file as `.<id>.tmp`, which is locked until the process ends. Under the lock of the document,
/// AccountKit renames the file to `<id>` and synchronizes the folder. Only then does it save the document that names
/// the file. Even after a crash, each named file therefore exists. The next change removes all other files. IDs are
/// random and never reused, so a file never changes.
struct DocumentFiles: Sendable {
    private let directory: ArchiveDirectory
    private let content: FileContent

    var path: String { directory.path }

    init(folder: String, root: String, name: String, seal: RowSeal?) {
        directory = ArchiveDirectory(path: folder, root: root)
        content = FileContent(chunks: seal.map { ChunkSeal(seal: $0, type: "file of " + name) })
    }

    /// Returns whether there are files other than staged files.
    func hasFiles() throws(AccountError) -> Bool {
        try directory.checkTrust()
        return try mapping(path) { () throws(SystemCallError) in
            try SystemCall.names(in: path).contains(where: Self.isID)
        }
    }

    // MARK: Adding

    func stage(contentsOf source: String) throws(AccountError) -> StagedFile {
        try stage(source.openFile(followingLinks: true), from: source, id: nil)
    }

    /// Copies a file of another, unencrypted document. The file keeps its ID, so that AccountKit recognizes a repeated
    /// copy.
    func stage(_ id: String, of other: DocumentFiles) throws(AccountError) -> StagedFile {
        let source = other.directory.path(id)
        guard Self.isID(id), try other.kind(of: id) != nil else { throw other.missing(id) }
        return try stage(source.openFile(followingLinks: false), from: source, id: id)
    }

    private func stage(
        _ input: borrowing FileDescriptor, from source: String, id known: String?
    ) throws(AccountError) -> StagedFile {
        // `commit` synchronizes the folder.
        try directory.make(before: "")
        while true {
            let id = known ?? Sodium.randomBytes(count: 16).hexadecimal
            let output = try mapping(path) { () throws(SystemCallError) in
                // The ID is fixed, so a process that was killed may have left a file with the same name.
                if known != nil { _ = try SystemCall.remove(directory.path(".\(id).tmp")) }
                return try FileDescriptor.create(directory.path(".\(id).tmp"))
            }
            do {
                // Another process may have removed the file before it was locked.
                guard try output.tryLock(), try SystemCall.status(output.path) != nil else { continue }
                try output.setPermissions(0o600)
                try content.store(input, in: output, id: id)
                try output.synchronize()
            } catch {
                // If this fails, the next change removes the file.
                _ = try? SystemCall.remove(output.path)
                throw AccountError(
                    .inaccessible, "\(source) could not be copied to \(path): nothing was changed", cause: error)
            }
            return StagedFile(id: id, file: output)
        }
    }

    func commit(_ files: [StagedFile]) throws(AccountError) {
        guard !files.isEmpty else { return }
        try mapping(path) { () throws(SystemCallError) in
            for file in files { try file.commit(in: directory) }
            try SystemCall.synchronizeDirectory(path)
            try SystemCall.synchronizeDirectory(path.parentDirectory)
        }
    }

    func check(_ ids: Set<String>) throws(AccountError) {
        for id in ids {
            guard Self.isID(id), try kind(of: id) == .regular else {
                throw AccountError(.invalidArgument, "there is no file \"\(id)\" in \(path): nothing was changed")
            }
        }
    }

    private func kind(of id: String) throws(AccountError) -> FileStatus.Kind? {
        try mapping(path) { () throws(SystemCallError) in try SystemCall.status(directory.path(id))?.kind }
    }

    // MARK: Removing

    /// Removes files that the document does not refer to, and staged files of processes that have ended. The caller
    /// must hold the lock of the document. The document must be durable, because an earlier version that a power cut
    /// restores may refer to the removed files. This method skips files that it cannot read or remove, and the next
    /// change tries again.
    func sweep(keeping ids: Set<String>) {
        for name in (try? SystemCall.names(in: path)) ?? [] {
            if Self.isID(name) {
                if !ids.contains(name) { remove(name) }
            } else if Self.isStagedName(name) {
                SystemCall.removeUnlessLocked(directory.path(name))
            }
        }
    }

    func remove(_ ids: Set<String>) {
        // A value may name any path, even that of the document.
        for id in ids where Self.isID(id) { remove(id) }
    }

    private func remove(_ name: String) {
        _ = try? SystemCall.remove(directory.path(name))
    }

    // The check is exact, because the user may keep other files in the folder.
    private static func isID(_ name: String) -> Bool {
        name.utf8.count == 32 && name.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }

    private static func isStagedName(_ name: String) -> Bool {
        name.hasPrefix(".") && name.hasSuffix(".tmp") && isID(String(name.dropFirst().dropLast(4)))
    }

    // MARK: Reading

    func export(_ id: String, to destination: String) throws(AccountError) {
        try directory.checkTrust()
        guard Self.isID(id), try kind(of: id) != nil else { throw missing(id) }
        let input = try directory.path(id).openFile(followingLinks: false)
        try ExportedFile.write(to: destination) { output in try content.restore(input, to: output, id: id) }
    }

    private func missing(_ id: String) -> AccountError {
        AccountError(.damaged, "the file \"\(id)\" is not in \(path)", hint: "restore the file from a backup")
    }
}
