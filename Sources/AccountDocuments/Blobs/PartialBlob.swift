import AccountKit
import AccountSupport
import Synchronization

/// An unfinished blob: the downloaded part, or the copy of an upload. The file is locked while it is open.
final class PartialBlob: Sendable {
    struct Resumption: Equatable {
        let entityTag: String
        let offset: Int
        let total: Int?
    }

    private struct State: ~Copyable {
        let file: FileDescriptor
        var record: BlobRecord?
        var content: ChunkSeal.File?
        var sealedByteCount = 0
        /// The bytes that are not encrypted yet, which include at least the last byte until the size is known.
        var rest: [UInt8] = []

        init(_ file: consuming FileDescriptor) { self.file = file }
    }

    private let name: BlobName
    private let format: BlobFormat
    private let folder: String
    private let path: String
    private let state: Mutex<State>

    /// - Returns: `nil` if another process or task holds the lock, or has just removed the file.
    static func open(_ file: String, of name: BlobName, in folder: String, _ format: BlobFormat) throws -> PartialBlob?
    {
        let descriptor = try FileDescriptor.openForUpdate(folder + "/" + file)
        guard try descriptor.tryLock(), try descriptor.isAtItsPath() else { return nil }
        try descriptor.setPermissions(0o600)
        return PartialBlob(descriptor, name, format, folder)
    }

    private init(_ file: consuming FileDescriptor, _ name: BlobName, _ format: BlobFormat, _ folder: String) {
        self.name = name
        self.format = format
        self.folder = folder
        path = file.path
        state = Mutex(State(file))
    }

    var byteCount: Int { state.withLock { $0.sealedByteCount + $0.rest.count } }

    var isResumable: Bool { state.withLock { $0.sealedByteCount > 0 && $0.record?.strongTag != nil } }

    // MARK: Writing

    /// Reads the intact part of an earlier attempt. Returns `nil` if there is none.
    func resume() throws -> Resumption? {
        try state.withLock { state in
            state.rest = []
            state.sealedByteCount = 0
            state.content = nil
            try state.file.seek(to: 0)
            guard let (record, start) = try format.readHead(of: state.file, name), let tag = record.strongTag else {
                return nil
            }
            var content = start
            let count = try format.countChunks(of: state.file, &content)
            guard count > 0 else { return nil }
            let end = BlobFormat.contentOffset + count * ChunkSeal.sealedChunkByteCount
            try state.file.truncate(to: end)
            try state.file.seek(to: end)
            state.record = record
            state.content = content
            state.sealedByteCount = count * ChunkSeal.chunkByteCount
            return Resumption(entityTag: tag, offset: state.sealedByteCount, total: record.byteCount)
        }
    }

    func begin(_ record: BlobRecord) throws {
        try state.withLock { state in
            state.content = try format.begin(state.file, record, of: name)
            state.record = record
            state.sealedByteCount = 0
            state.rest = []
        }
    }

    func append(_ bytes: some Collection<UInt8>) throws {
        try state.withLock { state in
            state.rest += bytes
            let size = ChunkSeal.chunkByteCount
            var start = 0
            // Keep at least one byte, because the encryption must mark the last chunk.
            while state.rest.count - start > size {
                try seal(state.rest[start..<start + size], isLast: false, &state)
                start += size
            }
            state.rest.removeSubrange(..<start)
        }
    }

    private func seal(_ chunk: ArraySlice<UInt8>, isLast: Bool, _ state: inout State) throws {
        guard var content = state.content else { preconditionFailure("the download has not begun") }
        try state.file.write(format.chunks.seal(chunk, isLast: isLast, of: &content))
        state.content = content
        state.sealedByteCount += chunk.count
    }

    /// Completes the blob durably, and renames the file to its final name. Returns `nil` if another process has removed
    /// or completed the blob in between.
    func finish(entityTag: String? = nil) throws -> BlobRecord? {
        try state.withLock { state in
            guard let begun = state.record else { preconditionFailure("the download has not begun") }
            try seal(state.rest[...], isLast: true, &state)
            state.rest = []
            var record = BlobRecord(
                entityTag: entityTag ?? begun.entityTag, contentType: begun.contentType,
                byteCount: state.sealedByteCount)
            record.content = begun.content
            if record != begun { try format.rewrite(record, in: state.file, of: name) }
            try state.file.synchronize()
            guard try state.file.isAtItsPath() else { return nil }
            try SystemCall.rename(path, to: folder + "/" + name.file)
            return record
        }
    }

    /// Removes the file, unless it has its final name.
    func discard() {
        state.withLock { state in
            state.record = nil
            state.content = nil
            state.rest = []
            state.sealedByteCount = 0
            // If the file cannot be removed, the next download overwrites it, or a cleanup removes it.
            guard (try? state.file.isAtItsPath()) == true else { return }
            try? state.file.truncate(to: 0)
            _ = try? SystemCall.remove(path)
        }
    }
}
