#if Offline
import AccountKit
import Synchronization

/// A copy of a file on its way into a document; see ``DocumentArchive/stage(contentsOf:)``.
///
/// Dropped without becoming one of the document's files, it is removed.
public final class StagedFile: Sendable {
    /// The id that the document names the file by: 32 hexadecimal digits.
    public let id: String

    // Open, and so locked, while it is staged: other processes remove files without a lock.
    private let file: Mutex<FileDescriptor?>

    init(id: String, file: consuming FileDescriptor) {
        self.id = id
        self.file = Mutex(file)
    }

    deinit { discard() }

    /// Gives it its name among the document's files.
    func commit(in directory: ArchiveDirectory) throws(SystemCallError) {
        try file.withLock { staged throws(SystemCallError) in
            guard let path = staged?.path else { return }
            try SystemCall.rename(path, to: directory.path(id))
            staged = nil
        }
    }

    /// Removes it, unless it has its name.
    func discard() {
        file.withLock { staged in
            guard let path = staged?.path else { return }
            // If it stays, the next change removes it.
            _ = try? SystemCall.remove(path)
            staged = nil
        }
    }
}
#endif
