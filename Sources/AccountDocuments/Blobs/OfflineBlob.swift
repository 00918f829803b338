public import AccountKit
import AccountCrypto
import AccountSupport

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A complete blob on this machine.
///
/// The methods read the bytes from the disk, unless the bytes are in memory. If the blob was removed or replaced on the
/// disk, the methods throw an error. In this case, get the blob from ``OfflineBlobs`` again.
public struct OfflineBlob: Sendable {
    /// The size of the blob in bytes.
    public let byteCount: Int

    /// The service's tag for this version, for ``BlobCondition/unchanged(entityTag:)``, or `nil` if the service sent
    /// none.
    public var entityTag: String? { record.entityTag }

    /// The media type from the service, such as `image/png`.
    public var contentType: String? { record.contentType }

    let record: BlobRecord
    let name: BlobName
    let path: String
    let format: BlobFormat
    let memory: BlobMemory

    /// Returns the content, from memory if it was read recently.
    ///
    /// - Throws: `damaged` if the file was changed or removed; `inaccessible` if it cannot be read.
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

    /// Writes a complete copy to a file, and replaces an existing file. The size of the blob does not affect memory
    /// use.
    ///
    /// - Parameter destination: The path of the file, which only its owner can read.
    /// - Throws: The errors of ``data()``, and `inaccessible` if the file cannot be written.
    public func export(to destination: String) async throws(AccountError) {
        try await BlockingWork.run { () throws(AccountError) in
            try ExportedFile.write(to: destination) { output in try forEachChunk { try output.write($0) } }
        }
    }

    private func forEachChunk(_ body: ([UInt8]) throws -> Void) throws(AccountError) {
        let damage = AccountError(
            .damaged, "the stored blob is missing or was changed: request it again", cause: nil)
        do {
            let file = try FileDescriptor.openForReading(path)
            guard case (let stored, let content)? = try format.readHead(of: file, name), stored == record else {
                throw damage
            }
            guard try format.chunks.open(file, content, body) else {
                // Remove the damaged file, so that the app downloads the blob again. If the removal fails, the next read
                // repeats it.
                if (try? file.isAtItsPath()) == true { _ = try? SystemCall.remove(path) }
                throw damage
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

extension OfflineBlob {
    /// Opens the file of a blob, which was complete when it received its name. Returns `nil` if the file is missing or
    /// not usable.
    init?(
        _ name: BlobName, in folder: String, _ format: BlobFormat, _ memory: BlobMemory
    ) throws(SystemCallError) {
        let path = folder + "/" + name.file
        // AccountKit has not created a link or a folder with this name.
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
        self.init(byteCount: byteCount, record: record, name: name, path: path, format: format, memory: memory)
    }
}
