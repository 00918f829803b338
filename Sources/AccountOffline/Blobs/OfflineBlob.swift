#if Offline
public import AccountKit
import AccountCrypto

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A complete blob on this machine.
///
/// Its bytes are read from the disk on each request. If the blob was removed or replaced since, that is an error: get it from
/// ``OfflineBlobs`` again.
public struct OfflineBlob: Sendable {
    /// The service's id of it.
    public let id: String

    /// How many bytes it has.
    public let byteCount: Int

    /// The service's tag of this version, for ``BlobCondition/unchanged(entityTag:)``; `nil` if the service gave none.
    public var entityTag: String? { record.entityTag }

    /// Its media type, as the service said, such as `image/png`.
    public var contentType: String? { record.contentType }

    let record: BlobRecord
    let name: BlobName
    let path: String
    let format: BlobFormat
    let memory: BlobMemory

    /// Opens the file of a blob, of which every byte was there when it got its name.
    ///
    /// - Returns: `nil` if it is not there, or cannot be used.
    init?(
        _ id: String, _ name: BlobName, in folder: String, _ format: BlobFormat, _ memory: BlobMemory
    ) throws(SystemCallError) {
        let path = folder + "/" + name.file
        // A link or a folder is not this module's.
        guard try SystemCall.status(path)?.kind == .regular else { return nil }
        let file: FileDescriptor
        do {
            file = try FileDescriptor.openForReading(path)
        } catch {
            if error.isNoEntry { return nil }
            throw error
        }
        guard let (record, _) = try format.readHead(of: file, name), let byteCount = record.byteCount,
            try file.status().byteCount == BlobFormat.fileByteCount(of: byteCount)
        else { return nil }
        self.init(id: id, byteCount: byteCount, record: record, name: name, path: path, format: format, memory: memory)
    }

    init(
        id: String, byteCount: Int, record: BlobRecord, name: BlobName, path: String, format: BlobFormat,
        memory: BlobMemory
    ) {
        self.id = id
        self.byteCount = byteCount
        self.record = record
        self.name = name
        self.path = path
        self.format = format
        self.memory = memory
    }

    /// All of it, from the memory if it was read not long ago.
    ///
    /// - Throws: `damaged` if it was changed on the disk, or is not there any more; `inaccessible` if it cannot be read.
    public func data() async throws(AccountError) -> Data {
        if let known = memory.data(of: name, record.content) { return known }
        let data = try await BlockingWork.run { () throws(AccountError) in
            var data = Data(capacity: byteCount)
            try forEachChunk { data.append(contentsOf: $0) }
            return data
        }
        memory.store(data, of: name, record.content)
        return data
    }

    /// Writes a complete copy to a file, which replaces an existing one. The size does not affect memory use.
    ///
    /// - Parameter destination: The path of the file, which only its owner can read.
    /// - Throws: As ``data()``, and `inaccessible` if the file cannot be written.
    public func export(to destination: String) async throws(AccountError) {
        try await BlockingWork.run { () throws(AccountError) in
            try ExportedFile.write(to: destination) { output in try forEachChunk { try output.write($0) } }
        }
    }

    /// Does something with each of its chunks, of which one at a time is in memory.
    private func forEachChunk(_ body: ([UInt8]) throws -> Void) throws(AccountError) {
        let damage = AccountError(
            .damaged, "the stored blob is not there any more, or was changed: ask for it again", cause: nil)
        do {
            let file = try FileDescriptor.openForReading(path)
            guard case (let stored, var content)? = try format.readHead(of: file, name), stored == record else {
                throw damage
            }
            var remaining = byteCount
            while true {
                let isLast = remaining <= ChunkSeal.chunkByteCount
                let sealed = try file.piece(
                    byteCount: isLast
                        ? RowSeal.sealedByteCount(of: remaining) : ChunkSeal.sealedChunkByteCount)
                let chunk = format.chunks.open(sealed, isLast: isLast, of: &content)
                guard let chunk, chunk.count == min(remaining, ChunkSeal.chunkByteCount) else {
                    // It is fetched again, rather than found damaged again. If it stays, the next one finds the same.
                    if (try? file.isAtItsPath()) == true { _ = try? SystemCall.remove(path) }
                    throw damage
                }
                try body(chunk)
                if isLast { return }
                remaining -= chunk.count
            }
        } catch let error as AccountError {
            throw error
        } catch let error as SystemCallError where error.isNoEntry && error.path == path {
            throw damage
        } catch {
            throw AccountError(.inaccessible, "the stored blob cannot be read", cause: error)
        }
    }
}
#endif
