import AccountKit
import AccountCrypto
import AccountSupport

/// The files of a document, in a folder with its name.
///
/// A file is staged as `.<id>.tmp`, locked while its process lives. Under the lock of the document it gets its name,
/// `<id>`, and is synchronized. Only then is the document saved that names it. So even after a crash each named file
/// exists. The next change removes other files. Ids are random and never used again, so a file never changes.
struct DocumentFiles: Sendable {
    private let directory: ArchiveDirectory
    private let content: FileContent

    var path: String { directory.path }

    init(folder: String, root: String, name: String, seal: RowSeal?) {
        directory = ArchiveDirectory(path: folder, root: root)
        content = FileContent(chunks: seal.map { ChunkSeal(seal: $0, type: "file of " + name) })
    }

    /// Whether there are files, not counting staged ones.
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

    /// Copies a file of another, unencrypted document. The file keeps its ID, so that a repeated copy is recognized.
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
                // The ID is fixed, so a file of a process that died may have the same name.
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

    /// Removes files that the document does not name, and staged files of processes that died. The caller holds the
    /// lock of the document, which must be durable: an earlier version that a power cut restores may name the removed
    /// files. Files that cannot be read or removed are skipped until the next change.
    func sweep(keeping ids: Set<String>) {
        for name in (try? SystemCall.names(in: path)) ?? [] {
            if Self.isID(name) {
                if !ids.contains(name) { remove(name) }
            } else if Self.isStagedName(name), let lock = try? FileLock(directory.path(name)),
                (try? lock.tryTake()) == true
            {
                // Remove the file under the lock, so that a process that has just created it does not begin to copy.
                remove(name)
            }
        }
    }

    func remove(_ ids: Set<String>) {
        for id in ids { remove(id) }
    }

    private func remove(_ name: String) {
        _ = try? SystemCall.remove(directory.path(name))
    }

    // The check is exact, since the user may keep other files in the folder.
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
        AccountError(.damaged, "the file \"\(id)\" is not in \(path)", hint: "restore it from a backup")
    }
}
