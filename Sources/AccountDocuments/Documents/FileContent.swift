import AccountKit

/// Copies the content of a document's file in pieces, with or without encryption, so that memory use does not depend on
/// the size.
struct FileContent: Sendable {
    /// The encryption of the files, or `nil` if files are not encrypted.
    let chunks: ChunkSeal?

    func store(
        _ input: borrowing FileDescriptor, in output: borrowing FileDescriptor, id: String
    ) throws(SystemCallError) {
        guard let chunks else { return try copy(input, to: output) }
        var file = chunks.newFile(id: id)
        try output.write(file.header)
        var chunk = try input.piece(byteCount: ChunkSeal.chunkByteCount)
        while true {
            let next = try input.piece(byteCount: ChunkSeal.chunkByteCount)
            try output.write(chunks.seal(chunk, isLast: next.isEmpty, of: &file))
            if next.isEmpty { return }
            chunk = next
        }
    }

    /// - Throws: A `SystemCallError`, or an `AccountError` if the file cannot be opened.
    func restore(_ input: borrowing FileDescriptor, to output: borrowing FileDescriptor, id: String) throws {
        guard let chunks else { return try copy(input, to: output) }
        let damage = AccountError(
            .wrongKeyOrDamaged, "\(input.path) does not open: the key is wrong, or the file was changed")
        let header = try input.piece(byteCount: ChunkSeal.headerByteCount)
        guard let file = chunks.file(id: id, header: header),
            try chunks.open(input, file, { chunk in try output.write(chunk) })
        else { throw damage }
    }

    private func copy(
        _ input: borrowing FileDescriptor, to output: borrowing FileDescriptor
    ) throws(SystemCallError) {
        while true {
            let bytes = try input.piece(byteCount: ChunkSeal.chunkByteCount)
            if bytes.isEmpty { return }
            try output.write(bytes)
        }
    }
}

extension FileDescriptor {
    /// Reads this many bytes, or fewer at the end of the file.
    borrowing func piece(byteCount: Int) throws(SystemCallError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        let count = try bytes.withUnsafeMutableBufferPointer { buffer throws(SystemCallError) in
            try read(into: UnsafeMutableRawBufferPointer(buffer))
        }
        bytes.removeSubrange(count...)
        return bytes
    }
}
