import AccountKit
import AccountCrypto
import AccountSupport

/// The encrypted header of a blob, with the data that a download needs to continue.
struct BlobRecord: Codable, Hashable {
    /// 16 random bytes that identify the content of this file, so that its record never applies to other content.
    var content: String
    var entityTag: String?
    var contentType: String?
    var byteCount: Int?

    init(entityTag: String?, contentType: String?, byteCount: Int?) {
        content = Sodium.randomBytes(count: 16).hexadecimal
        // Drop values that are too long, because the record has a fixed size.
        self.entityTag = entityTag.flatMap { $0.utf8.count <= EntityTag.maximumByteCount ? $0 : nil }
        self.contentType = contentType.flatMap { $0.utf8.count <= 128 ? $0 : nil }
        self.byteCount = byteCount
    }

    var strongTag: String? { entityTag.flatMap { EntityTag.isStrong($0) ? $0 : nil } }
}

/// The file format of a blob. A file consists of `AKBL`, version 1 as u32, the record as 2 KiB of JSON encrypted by a
/// ``RowSeal``, and the content encrypted by a ``ChunkSeal``. The record can be replaced in place.
struct BlobFormat: Sendable {
    static let contentOffset = magic.count + sealedRecordByteCount + ChunkSeal.headerByteCount

    private static let magic: [UInt8] = Array("AKBL".utf8) + [1, 0, 0, 0]
    private static let recordByteCount = 2048
    private static let sealedRecordByteCount = RowSeal.sealedByteCount(of: recordByteCount)
    private static let type = "blob"

    let seal: RowSeal
    var chunks: ChunkSeal { ChunkSeal(seal: seal, type: "blob chunks") }

    static func fileByteCount(of byteCount: Int) -> Int {
        let full = max(byteCount - 1, 0) / ChunkSeal.chunkByteCount
        let rest = byteCount - full * ChunkSeal.chunkByteCount
        return contentOffset + full * ChunkSeal.sealedChunkByteCount + RowSeal.sealedByteCount(of: rest)
    }

    // MARK: Writing

    func begin(
        _ file: borrowing FileDescriptor, _ record: BlobRecord, of name: BlobName
    ) throws -> ChunkSeal.File {
        let content = chunks.newFile(id: record.content)
        try file.truncate(to: 0)
        try file.seek(to: 0)
        try file.write(Self.magic + sealed(record, name) + content.header)
        return content
    }

    func rewrite(_ record: BlobRecord, in file: borrowing FileDescriptor, of name: BlobName) throws {
        try file.seek(to: Self.magic.count)
        try file.write(try sealed(record, name))
    }

    private func sealed(_ record: BlobRecord, _ name: BlobName) throws -> [UInt8] {
        var json = [UInt8](try JSONEncoder().encode(record))
        // Pad the JSON with trailing spaces, which JSON allows. Even with all fields escaped and at their maximum
        // length, the JSON is shorter than the record.
        guard json.count <= Self.recordByteCount else {
            throw AccountError(.invalidArgument, "the service's description of the blob is too long to store")
        }
        json += [UInt8](repeating: UInt8(ascii: " "), count: Self.recordByteCount - json.count)
        return seal.seal(json, type: Self.type, id: Array(name.text.utf8))
    }

    // MARK: Reading

    /// Reads the record and the header before the content, from the start of the file. Returns `nil` if the file
    /// belongs to another blob or was changed.
    func readHead(
        of file: borrowing FileDescriptor, _ name: BlobName
    ) throws(SystemCallError) -> (record: BlobRecord, content: ChunkSeal.File)? {
        let bytes = try file.piece(byteCount: Self.contentOffset)
        let sealed = bytes.dropFirst(Self.magic.count).prefix(Self.sealedRecordByteCount)
        let header = bytes.suffix(ChunkSeal.headerByteCount)
        guard bytes.count == Self.contentOffset, bytes.starts(with: Self.magic),
            let json = seal.open(sealed, type: Self.type, id: Array(name.text.utf8)),
            // An encrypted header that cannot be decoded is from a later version, so the app downloads the blob again.
            let record = try? JSONDecoder().decode(BlobRecord.self, from: Data(json)),
            let content = chunks.file(id: record.content, header: Array(header))
        else { return nil }
        return (record, content)
    }

    /// Counts the valid chunks of an earlier attempt, and positions `content` after them.
    func countChunks(
        of file: borrowing FileDescriptor, _ content: inout ChunkSeal.File
    ) throws(SystemCallError) -> Int {
        var count = 0
        while true {
            let chunk = try file.piece(byteCount: ChunkSeal.sealedChunkByteCount)
            var next = content
            guard chunk.count == ChunkSeal.sealedChunkByteCount,
                chunks.open(chunk, isLast: false, of: &next)?.count == ChunkSeal.chunkByteCount
            else { return count }
            content = next
            count += 1
        }
    }
}

/// The name of a blob's file, which consists of keyed hashes of the owner and the ID. AccountKit can therefore find an
/// owner's blobs without an index.
struct BlobName: Sendable, Hashable {
    let text: String

    static let ownerByteCount = 32
    static let byteCount = 2 * ownerByteCount

    init(_ id: String, owner: String, _ seal: RowSeal) {
        var both: [UInt8] = []
        both.append(lengthPrefixed: Array(owner.utf8))
        both.append(lengthPrefixed: Array(id.utf8))
        text = Self.prefix(of: owner, seal) + seal.keyedID(both, type: "blob").hexadecimal
    }

    static func prefix(of owner: String, _ seal: RowSeal) -> String {
        seal.keyedID(owner.utf8, type: "blob owner").hexadecimal
    }

    var file: String { text }
    var partialFile: String { ".\(text).part" }
    /// Returns a new name for the copy of an upload.
    func temporaryFile() -> String { ".\(text).\(Sodium.randomBytes(count: 8).hexadecimal).tmp" }

    /// - Returns: The name of the blob to which a file in the folder belongs, or `nil` for other files.
    static func text(of file: String) -> Substring? {
        let isHidden = file.hasPrefix(".")
        let text = file.dropFirst(isHidden ? 1 : 0).prefix(byteCount)
        guard text.utf8.count == byteCount, text.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }) else {
            return nil
        }
        let rest = file.dropFirst(byteCount + (isHidden ? 1 : 0))
        let isOwn = isHidden ? rest == ".part" || rest.hasSuffix(".tmp") : rest.isEmpty
        return isOwn ? text : nil
    }
}
