import AccountKit
import AccountCrypto

enum SourceFile {
    /// Opens without blocking on a pipe, checks kind and size on the open file, and reads it to its end.
    static func read(_ path: String) throws(AccountError) -> WipedBytes {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .unusable("This is not a path.") }
        let status: FileStatus
        let bytes: WipedBytes
        do throws(SystemCallError) {
            let file = try FileDescriptor.openForReading(path, followingLinks: true)
            status = try file.status()
            let isUsable = status.kind == .regular && status.byteCount <= LegacyArchive.maximumByteCount
            bytes = try WipedBytes(capacity: isUsable ? status.byteCount : 0) { buffer throws(SystemCallError) in
                try file.read(into: buffer)
            }
        } catch {
            throw failure(error)
        }
        switch status.kind {
        case .regular: break
        case .directory: throw .unusable("It is a folder; name the file in it.")
        case .symbolicLink, .other: throw .unusable("It is not a regular file; copy what it gives into one.")
        }
        guard status.byteCount <= LegacyArchive.maximumByteCount else { throw .tooLarge }
        guard bytes.count == status.byteCount else { throw .damaged("it became shorter while it was read") }
        return bytes
    }

    private static func failure(_ error: SystemCallError) -> AccountError {
        let message =
            if error.isNoEntry || error.isNoDirectory {
                "There is no such file; check the path."
            } else if error.isRefusal {
                "You may not read it; see its permissions and those of the folders above it."
            } else {
                "The system could not read it."
            }
        return AccountError(.inaccessible, message, cause: error)
    }
}
