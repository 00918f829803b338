#if Offline
import AccountKit
import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The folder of blobs: one sealed file each, and what is on its way to be one.
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

    /// The blob, if all of it is there. That it is used now is noted.
    ///
    /// A file that cannot be used stays, till the next download puts another in its place: by now one may have done so.
    func blob(_ id: String, _ name: BlobName, at date: Date) throws -> OfflineBlob? {
        try directory.checkTrust()
        guard let blob = try OfflineBlob(id, name, in: path, format, memory) else { return nil }
        touch(name, at: date)
        return blob
    }

    /// Notes when it was used. What is not noted only makes it go earlier.
    func touch(_ name: BlobName, at date: Date) {
        try? FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path + "/" + name.file)
    }

    /// - Returns: `nil` if another process or task is writing the same.
    func partial(_ file: String, of name: BlobName) throws -> PartialBlob? {
        try directory.make(before: "")
        return try PartialBlob.open(file, of: name, in: path, format)
    }

    // MARK: Removing

    /// Removes the blobs whose names begin so, also those that are on their way: they do not get their names any more.
    func remove(_ prefix: String) throws {
        memory.remove(prefix)
        for file in try SystemCall.names(in: path) where BlobName.text(of: file)?.hasPrefix(prefix) == true {
            try SystemCall.remove(path + "/" + file)
        }
    }

    /// Removes a blob, and the download of it that is under way.
    func remove(_ name: BlobName) throws {
        memory.remove(name.text)
        for file in [name.file, name.partialFile] { try SystemCall.remove(path + "/" + file) }
    }

    /// Makes room: removes what was not used for longest, until all that is there has no more than so many bytes.
    ///
    /// What cannot be looked at or removed is in nobody's way. Uploads' copies that were left behind go in any case.
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
        // A blob that is whole has no lock of anybody's.
        guard file.hasPrefix(".") else {
            _ = try? SystemCall.remove(path + "/" + file)
            return
        }
        guard let lock = try? FileLock(path + "/" + file), (try? lock.tryTake()) == true else { return }
        // Still locked, so that nobody who has just opened it begins to write.
        _ = try? SystemCall.remove(path + "/" + file)
    }

    func removeAll() {
        memory.remove()
        // The key is gone already, and with it all that this holds.
        try? FileManager.default.removeItem(atPath: path)
    }
}
#endif
