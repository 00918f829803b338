import AccountKit
import AccountCrypto
import AccountSupport

/// The folder of blobs, with one encrypted file for each blob, and the files of unfinished downloads.
struct BlobFolder: Sendable {
    let path: String
    let format: BlobFormat
    let memory: BlobMemory
    private let directory: ArchiveDirectory

    init(_ directory: ArchiveDirectory, _ seal: RowSeal, _ memory: BlobMemory) {
        self.directory = directory
        path = directory.path
        self.memory = memory
        format = BlobFormat(seal: seal)
    }

    func name(_ id: String, owner: String) -> BlobName { BlobName(id, owner: owner, format.seal) }

    /// Returns a complete blob, and records its use. This method does not remove an unusable file, because another
    /// process may have just replaced it.
    func blob(_ id: String, _ name: BlobName, at date: Date) throws -> OfflineBlob? {
        try directory.checkTrust()
        guard let blob = try OfflineBlob(name, in: path, format, memory) else { return nil }
        touch(name, at: date)
        return blob
    }

    /// Records the use of a blob. If this fails, the only effect is that AccountKit removes the blob earlier.
    func touch(_ name: BlobName, at date: Date) {
        try? FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path + "/" + name.file)
    }

    /// - Returns: `nil` if another process or task is writing the same blob.
    func partial(_ file: String, of name: BlobName) throws -> PartialBlob? {
        try directory.make(before: "")
        return try PartialBlob.open(file, of: name, in: path, format)
    }

    // MARK: Removing

    func remove(_ prefix: String) throws {
        memory.remove(prefix)
        for file in try SystemCall.names(in: path) where BlobName.text(of: file)?.hasPrefix(prefix) == true {
            try SystemCall.remove(path + "/" + file)
        }
    }

    func remove(_ name: BlobName) throws {
        memory.remove(name.text)
        for file in [name.file, name.partialFile] { try SystemCall.remove(path + "/" + file) }
    }

    /// Removes the least recently used blobs until the other blobs have at most `limit` bytes, and removes all leftover
    /// copies of uploads. This method skips files that it cannot read or remove.
    func evict(to limit: Int) {
        struct Entry {
            let file: String
            let byteCount: Int
            let lastUse: Date
        }
        var entries: [Entry] = []
        for file in (try? SystemCall.names(in: path)) ?? [] where BlobName.text(of: file) != nil {
            if file.hasSuffix(".tmp") {
                removeUnlessLocked(file)
            } else if let status = try? SystemCall.status(path + "/" + file),
                let attributes = try? FileManager.default.attributesOfItem(atPath: path + "/" + file)
            {
                entries.append(
                    Entry(
                        file: file, byteCount: status.byteCount,
                        lastUse: attributes[.modificationDate] as? Date ?? .distantPast))
            }
        }
        var byteCount = entries.reduce(0) { $0 + $1.byteCount }
        for entry in entries.sorted(by: { $0.lastUse < $1.lastUse }) where byteCount > limit {
            removeUnlessLocked(entry.file)
            byteCount -= entry.byteCount
        }
    }

    private func removeUnlessLocked(_ file: String) {
        // A complete blob has no lock.
        guard file.hasPrefix(".") else {
            _ = try? SystemCall.remove(path + "/" + file)
            return
        }
        SystemCall.removeUnlessLocked(path + "/" + file)
    }

    func removeAll() {
        memory.remove()
        // Ignore errors: the key is already destroyed, so the files are unreadable.
        try? FileManager.default.removeItem(atPath: path)
    }
}
