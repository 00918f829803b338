import AccountKit
import Synchronization

/// A copy of a file that a change can add to a document: see ``DocumentArchive/stage(contentsOf:)``.
///
/// If the value is released before the change, AccountKit removes the file.
public final class StagedFile: Sendable {
    /// The ID by which the document refers to the file: 32 hexadecimal digits.
    public let id: String

    // A staged file stays open and therefore locked, because other processes remove files without a lock.
    private let file: Mutex<FileDescriptor?>

    init(id: String, file: consuming FileDescriptor) {
        self.id = id
        self.file = Mutex(file)
    }

    deinit { discard() }

    func commit(in directory: ArchiveDirectory) throws(SystemCallError) {
        try file.withLock { staged throws(SystemCallError) in
            guard let path = staged?.path else { return }
            try SystemCall.rename(path, to: directory.path(id))
            staged = nil
        }
    }

    /// Removes the file, unless it has its final name.
    func discard() {
        file.withLock { staged in
            guard let path = staged?.path else { return }
            // If this fails, the next change removes the file.
            _ = try? SystemCall.remove(path)
            staged = nil
        }
    }
}
