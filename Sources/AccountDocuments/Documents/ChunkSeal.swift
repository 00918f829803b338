import AccountKit
import AccountCrypto

/// Encrypts a file of any size in chunks, so that memory use does not depend on the size.
///
/// The file consists of a header (`AKCF`, version 1 as u32, 16 random bytes) and chunks of 64 KiB. A ``RowSeal`` binds
/// each chunk to the file's ID, to the header's random bytes, to the chunk's number, and to the information whether it
/// is the last chunk. An attacker therefore cannot omit or move chunks, or take them from another file. The last chunk
/// may be shorter than 64 KiB, or empty.
struct ChunkSeal: Sendable {
    static let chunkByteCount = 64 * 1024
    static let sealedChunkByteCount = RowSeal.sealedByteCount(of: chunkByteCount)
    static let headerByteCount = magic.count + nonceByteCount

    private static let magic: [UInt8] = Array("AKCF".utf8) + [1, 0, 0, 0]
    private static let nonceByteCount = 16

    let seal: RowSeal
    let type: String

    struct File {
        let header: [UInt8]
        fileprivate let id: [UInt8]
        private var number: UInt64 = 0

        fileprivate init(header: [UInt8], id: [UInt8]) {
            self.header = header
            self.id = id
        }

        fileprivate mutating func nextChunkID(isLast: Bool) -> [UInt8] {
            var bytes = id + header.suffix(ChunkSeal.nonceByteCount)
            bytes.append(littleEndian: number)
            number += 1
            return bytes + [isLast ? 1 : 0]
        }
    }

    func newFile(id: String) -> File {
        File(
            header: Self.magic + Sodium.randomBytes(count: Self.nonceByteCount),
            id: seal.keyedID(id.utf8, type: type))
    }

    func file(id: String, header: [UInt8]) -> File? {
        guard header.count == Self.headerByteCount, header.starts(with: Self.magic) else { return nil }
        return File(header: header, id: seal.keyedID(id.utf8, type: type))
    }

    func seal(_ chunk: some Collection<UInt8>, isLast: Bool, of file: inout File) -> [UInt8] {
        seal.seal(chunk, type: type, id: file.nextChunkID(isLast: isLast))
    }

    /// - Returns: `nil` if the bytes are not this file's next chunk, or were changed.
    func open(_ chunk: some Collection<UInt8>, isLast: Bool, of file: inout File) -> [UInt8]? {
        seal.open(chunk, type: type, id: file.nextChunkID(isLast: isLast))
    }

    /// Decrypts the chunks from the position of `input` to its end.
    ///
    /// - Returns: `false` if the bytes are not the chunks of this file, or were changed.
    func open(_ input: borrowing FileDescriptor, _ file: File, _ body: ([UInt8]) throws -> Void) throws -> Bool {
        var file = file
        var chunk = try input.piece(byteCount: Self.sealedChunkByteCount)
        while true {
            let next = try input.piece(byteCount: Self.sealedChunkByteCount)
            guard let plaintext = open(chunk, isLast: next.isEmpty, of: &file) else { return false }
            try body(plaintext)
            if next.isEmpty { return true }
            chunk = next
        }
    }
}
