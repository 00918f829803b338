import AccountKit
import AccountCrypto

enum SourceFile {
    /// Opens a file without blocking on a pipe, checks the kind and size of the open file, and reads it to the end.
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
        case .directory: throw .unusable("It is a folder; choose the file in it.")
        case .symbolicLink, .other: throw .unusable("It is not a regular file; copy its content to a file.")
        }
        guard status.byteCount <= LegacyArchive.maximumByteCount else { throw .tooLarge }
        guard bytes.count == status.byteCount else { throw .damaged("it was truncated while it was read") }
        return bytes
    }

    private static func failure(_ error: SystemCallError) -> AccountError {
        let message =
            if error.isNoEntry || error.isNoDirectory {
                "There is no such file; check the path."
            } else if error.isRefusal {
                "You have no permission to read it; check the permissions of the file and its parent folders."
            } else {
                "The system could not read it."
            }
        return AccountError(.inaccessible, message, cause: error)
    }
}
