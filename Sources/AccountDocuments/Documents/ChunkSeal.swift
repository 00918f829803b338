import AccountKit
import AccountCrypto

/// Seals a file of any size in chunks, so that memory use does not depend on the size.
///
/// The file is a header (`AKCF`, version 1 as u32, 16 random bytes), then chunks of 64 KiB. A ``RowSeal`` seals each
/// chunk under the file's ID, the header's random bytes, the chunk's number, and whether it is the last. So chunks
/// cannot be left out, moved, or taken from another file. The last chunk may be shorter, or empty.
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
}
