import AccountCrypto
import AccountSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The folder of an archive. To change entries, the caller must hold the lock.
package struct ArchiveDirectory: Sendable {
    enum Contents {
        case entries

        /// A document of the app. Other documents or an account may be in the same folder.
        case document(name: String, maximumByteCount: Int)
    }

    package let path: String

    /// The folder of the app, which is `path` or contains it.
    let root: String

    let contents: Contents

    package init(path: String, root: String) {
        self.init(path: path, root: root, contents: .entries)
    }

    init(path: String, root: String, contents: Contents) {
        self.path = path
        self.root = root
        self.contents = contents
    }

    package func path(_ name: String) -> String { path + "/" + name }

    var lockName: String {
        switch contents {
        case .entries: FileArchiveStorage.lockName
        case .document(let name, _): name + ".lock"
        }
    }

    // MARK: Trust

    /// Throws an error if another user owns, or can write to, a folder from the root to this one, since that user could
    /// replace the next folder. A missing folder is not an error. Every access to a container begins with this check.
    package func checkTrust() throws(AccountError) {
        for folder in foldersFromRoot {
            guard let status = try TrustedLinks.targetStatus(folder) else { continue }
            guard status.kind == .directory else {
                throw AccountError(.inaccessible, "\(folder) is not a folder", hint: "move it away")
            }
            guard status.owner == SystemCall.effectiveUser else {
                throw AccountError(
                    .insecureContainer,
                    "\(folder) \(SystemCall.ownership(status.owner)), or take ownership of the folder with `sudo chown -R "
                        + "\(SystemCall.effectiveUser) \(folder.shellWord)`")
            }
            guard status.permissions & 0o022 == 0 else {
                throw AccountError(
                    .insecureContainer,
                    "other users can write to \(folder), and could replace your files",
                    hint: "run `chmod go-w \(folder.shellWord)`")
            }
        }
    }

    /// Whether one of the folders, from the root to this one, is a link. A link may lead out of the folders of the app.
    package func leadsThroughLink() throws(SystemCallError) -> Bool {
        for folder in foldersFromRoot where try SystemCall.status(folder)?.kind == .symbolicLink { return true }
        return false
    }

    /// Changes the permissions of the folder, or of a file in it. Does not change anything through a link, or below a
    /// folder in which another user could have put a link.
    package func changePermissions(of path: String, to permissions: UInt32) throws(AccountError) {
        try mapping(path) { () throws(SystemCallError) in
            for folder in foldersFromRoot where folder != path {
                guard let status = try SystemCall.status(folder), status.kind == .directory,
                    status.owner == SystemCall.effectiveUser, status.permissions & 0o022 == 0
                else { throw SystemCallError("chmod", folder, errno: EPERM) }
            }
            try SystemCall.changePermissions(path, permissions)
        }
    }

    package var foldersFromRoot: [String] {
        var folders = [path]
        while let last = folders.last, last.utf8.count > root.utf8.count { folders.append(last.parentDirectory) }
        return folders.reversed()
    }

    func exists(with marker: String) throws(AccountError) -> Bool {
        try mapping(path) { () throws(SystemCallError) in try SystemCall.status(path(marker)) != nil }
    }

    /// Creates the folder and its missing parents durably, with mode 0700. `marker` is the next file that is created in
    /// the folder. If it is missing, a process may have died before the folders were durable, so this function
    /// synchronizes the folders again.
    package func make(before marker: String) throws(AccountError) {
        try checkTrust()
        if try exists(with: marker) { return }
        let folders = try foldersToMake()
        try mapping(path) { () throws(SystemCallError) in
            for folder in folders.reversed() {
                var isNew = try SystemCall.targetStatus(folder) == nil
                if isNew { isNew = try SystemCall.makeDirectory(folder) }
                // A umask may have removed permissions of the owner.
                if isNew { try SystemCall.changePermissions(folder, 0o700) }
                do throws(SystemCallError) {
                    try SystemCall.synchronizeDirectory(folder.parentDirectory.isEmpty ? "/" : folder.parentDirectory)
                } catch  where !isNew && error.isRefusal {
                    // A folder that cannot be opened cannot contain a folder that this program has created.
                }
            }
        }
    }

    private func foldersToMake() throws(AccountError) -> [String] {
        var folders: [String] = []
        var isMissing = false
        var folder = path
        while !folder.isEmpty {
            let status = try mapping(folder) { () throws(SystemCallError) in try SystemCall.targetStatus(folder) }
            if let status, status.owner != SystemCall.effectiveUser {
                // The owner could not open the new folder, for example if root creates a folder in a home directory.
                guard !isMissing || status.letsEveryoneMakeFolders else {
                    throw AccountError(
                        .insecureContainer,
                        "\(folder) \(SystemCall.ownership(status.owner)), or make the folder yourself with `mkdir -p -m 700 "
                            + "\(path.shellWord)`")
                }
                break
            }
            folders.append(folder)
            isMissing = status == nil
            folder = folder.parentDirectory
        }
        return folders
    }

    // MARK: Entries

    func read(_ entry: ArchiveEntry) throws(AccountError) -> StoredEntry? {
        guard let bytes = try bytes(of: entry) else { return nil }
        return StoredEntry(bytes: bytes, revision: ArchiveRevision(bytes: Sodium.hash(bytes, count: 16)))
    }

    func bytes(of entry: ArchiveEntry) throws(AccountError) -> [UInt8]? {
        let path = path(entry.rawValue)
        let limit = maximumByteCount
        do {
            let file = try FileDescriptor.openForReading(path)
            let status = try file.status()
            guard status.kind == .regular else {
                let cause = status.kind == .directory ? SystemCallError.readsDirectory(path) : nil
                throw AccountError(
                    .inaccessible, "\(path) is not a file", hint: "move it away and try again", cause: cause)
            }
            guard status.byteCount <= limit else { throw tooLarge(path, byteCount: status.byteCount) }
            let bytes = try file.read(limit: limit, expected: status.byteCount)
            guard bytes.count <= limit else {
                throw AccountError(.damaged, "\(path) grew to more than \(limit) bytes while it was read")
            }
            return bytes
        } catch let error as AccountError {
            throw error
        } catch let error as SystemCallError where error.isNoEntry {
            return nil
        } catch let error as SystemCallError where error.isLink {
            throw AccountError(
                .inaccessible,
                "\(path) is a symbolic link, which AccountKit does not follow: put the file itself there",
                cause: error)
        } catch {
            throw AccountError(.inaccessible, "\(path) cannot be read", cause: error)
        }
    }

    private var maximumByteCount: Int {
        switch contents {
        case .entries: ArchivePropertyList.maximumByteCount
        case .document(_, let maximumByteCount): maximumByteCount
        }
    }

    private func tooLarge(_ path: String, byteCount: Int) -> AccountError {
        switch contents {
        case .entries:
            AccountError(
                .damaged,
                "\(path) has \(byteCount) bytes, more than the maximum of \(maximumByteCount). You are not signed out; "
                    + "restore a backup, or sign in again")
        case .document:
            AccountError(.tooLarge, "\(path) has \(byteCount) bytes, more than the maximum of \(maximumByteCount)")
        }
    }

    /// Links an entry under a second name, which stays when the entry is replaced. If the file system does not support
    /// hard links, renames the entry.
    func quarantine(_ entry: ArchiveEntry, label: String) throws(AccountError) -> String {
        let source = path(entry.rawValue)
        return try mapping(source) { () throws(SystemCallError) in
            var destination = source + "." + label
            var count = 1
            while try SystemCall.status(destination) != nil {
                count += 1
                destination = source + "." + label + "-\(count)"
            }
            do throws(SystemCallError) {
                _ = try SystemCall.link(source, as: destination)
            } catch  where error.isUnsupported {
                try SystemCall.rename(source, to: destination)
            }
            do throws(SystemCallError) {
                // A link has no permissions of its own.
                if try SystemCall.status(destination)?.kind == .regular {
                    try SystemCall.changePermissions(destination, 0o600)
                }
                try SystemCall.synchronizeDirectory(path)
            } catch {
                if try SystemCall.status(source) == nil {
                    try SystemCall.rename(destination, to: source)
                } else {
                    try SystemCall.remove(destination)
                }
                throw error
            }
            return destination
        }
    }

    func restore(_ entry: ArchiveEntry, from place: String) throws(AccountError) {
        let destination = path(entry.rawValue)
        try mapping(destination) { () throws(SystemCallError) in
            guard try SystemCall.status(destination) == nil else { return }
            try SystemCall.rename(place, to: destination)
            try SystemCall.synchronizeDirectory(path)
        }
    }

    /// Removes files that a crash left behind.
    func removeLeftovers(isLeased: Bool) throws(AccountError) {
        try mapping(path) { () throws(SystemCallError) in
            for name in try SystemCall.names(in: path) where isLeftover(name, isLeased: isLeased) {
                // A file that cannot be removed does no harm.
                _ = try? SystemCall.remove(self.path(name))
            }
        }
    }

    /// Creates the new file of an entry. If `isLeased` is `true`, other processes do not remove the new file, and an
    /// existing file belongs to a lease holder that died.
    func makeTemporary(
        for entry: ArchiveEntry, reserving byteCount: Int?, isLeased: Bool
    ) throws(AccountError) -> TemporaryFile {
        try mapping(path) { () throws(SystemCallError) in
            if isLeased { try SystemCall.remove(self.path(TemporaryFile.leasedName(of: entry))) }
            return try TemporaryFile.make(for: entry, in: self, reserving: byteCount, isLeased: isLeased)
        }
    }

    /// Returns whether a crash left the file behind. The caller holds the lock, and if `isLeased` is `true`, also the
    /// lease.
    func isLeftover(_ name: String, isLeased: Bool = false) -> Bool {
        switch contents {
        case .entries:
            TemporaryFile.isName(name) || TemporaryFile.isLeasedName(name) && !isLeased && isLeaseFree()
        case .document(let document, _):
            TemporaryFile.isName(name, ofDocument: document)
        }
    }

    /// Returns whether no process is refreshing. While the caller holds the lock of the folder, no process can begin a
    /// transaction of a refresh.
    func isLeaseFree() -> Bool {
        let path = path(FileArchiveStorage.leaseName)
        do throws(SystemCallError) {
            guard try SystemCall.status(path) != nil else { return true }
            return try FileLock(path).tryTake()
        } catch {
            // If the lease file cannot be read, keep the files of the lease holder.
            return false
        }
    }

    func remove(_ entry: ArchiveEntry) throws(AccountError) -> ArchiveReceipt.Durability {
        let path = path(entry.rawValue)
        try mapping(path) { () throws(SystemCallError) in _ = try SystemCall.remove(path) }
        return synchronize()
    }

    func synchronize() -> ArchiveReceipt.Durability {
        do throws(SystemCallError) {
            try SystemCall.synchronizeDirectory(path)
            return .durable
        } catch {
            return .unknown(reason: error.userText)
        }
    }

    fileprivate func temporaryPrefix(of entry: ArchiveEntry) -> String {
        switch contents {
        case .entries: entry.rawValue
        case .document(let name, _): name
        }
    }

    func conflict(_ entry: ArchiveEntry) -> AccountError {
        AccountError(.conflict, "another process changed \(path(entry.rawValue))", hint: "try again")
    }
}

/// A new file for an entry. The caller commits or discards it.
struct TemporaryFile: ~Copyable {
    let entry: ArchiveEntry
    private let directory: ArchiveDirectory
    private let file: FileDescriptor
    private let reservedByteCount: Int

    var path: String { file.path }

    /// Creates `.Account.plist.<16 hexadecimal digits>.tmp`, `.Items.<16 hexadecimal digits>.tmp` for a document, or
    /// `.Account.plist.refresh.tmp` for the holder of the refresh lease, with mode 0600.
    static func make(
        for entry: ArchiveEntry, in directory: ArchiveDirectory, reserving byteCount: Int?, isLeased: Bool
    ) throws(SystemCallError) -> TemporaryFile {
        let name =
            isLeased
            ? leasedName(of: entry)
            : ".\(directory.temporaryPrefix(of: entry)).\(Sodium.randomBytes(count: 8).hexadecimal).tmp"
        let path = directory.path(name)
        let file = try FileDescriptor.create(path)
        do throws(SystemCallError) {
            try file.setPermissions(0o600)
            if let byteCount { try file.reserve(byteCount) }
        } catch {
            _ = try? SystemCall.remove(path)
            throw error
        }
        return TemporaryFile(entry: entry, directory: directory, file: file, reservedByteCount: byteCount ?? 0)
    }

    private init(
        entry: ArchiveEntry, directory: ArchiveDirectory, file: consuming FileDescriptor, reservedByteCount: Int
    ) {
        self.entry = entry
        self.directory = directory
        self.file = file
        self.reservedByteCount = reservedByteCount
    }

    static func leasedName(of entry: ArchiveEntry) -> String { ".\(entry.rawValue).refresh.tmp" }

    static func isLeasedName(_ name: String) -> Bool {
        name.hasPrefix(".") && name.hasSuffix(".plist.refresh.tmp")
    }

    /// Returns whether a name has exactly the form of a temporary file's name, since the user may keep other files in
    /// the folder.
    static func isName(_ name: String) -> Bool {
        guard name.utf8.first == UInt8(ascii: "."), name.hasSuffix(".tmp") else { return false }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count >= 5, parts[0].isEmpty, parts.suffix(3).first == "plist", parts.last == "tmp" else {
            return false
        }
        return isDigits(parts[parts.count - 2])
    }

    /// Returns whether a name is that of a document's temporary file. The name of a document has no dot, so the files
    /// of an account never match.
    static func isName(_ name: String, ofDocument document: String) -> Bool {
        let (prefix, suffix) = (".\(document).", ".tmp")
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return false }
        return isDigits(name.dropFirst(prefix.count).dropLast(suffix.count))
    }

    private static func isDigits(_ text: Substring) -> Bool {
        text.utf8.count == 16 && text.allSatisfy { $0.isHexDigit && !$0.isUppercase }
    }

    consuming func commit(_ bytes: [UInt8]) throws(AccountError) -> ArchiveReceipt {
        let destination = directory.path(entry.rawValue)
        do throws(SystemCallError) {
            try file.write(bytes)
            if bytes.count < reservedByteCount { try file.truncate(to: bytes.count) }
            try file.synchronize()
            try SystemCall.rename(file.path, to: destination)
        } catch {
            _ = try? SystemCall.remove(file.path)
            throw AccountError(.inaccessible, "\(destination) cannot be saved; it was not changed", cause: error)
        }
        return ArchiveReceipt(
            revision: ArchiveRevision(bytes: Sodium.hash(bytes, count: 16)), durability: directory.synchronize())
    }

    consuming func discard() throws(SystemCallError) {
        try SystemCall.remove(file.path)
    }
}

package func mapping<Result: ~Copyable>(
    _ path: String, _ body: () throws(SystemCallError) -> Result
) throws(AccountError) -> Result {
    do throws(SystemCallError) {
        return try body()
    } catch {
        guard !error.isUnsupportedLock else {
            throw AccountError(
                .inaccessible,
                "the file system of \(path.parentDirectory) supports no locks, without which two programs could use one token twice",
                hint: "store the account in a folder on a local disk", cause: error)
        }
        throw AccountError(.inaccessible, "\(path) cannot be used", cause: error)
    }
}

extension FileStatus {
    /// Whether the folder belongs to root, or is sticky and writable by all users, such as `/tmp`.
    fileprivate var letsEveryoneMakeFolders: Bool { owner == 0 || permissions & 0o1002 == 0o1002 }
}

extension String {
    package var parentDirectory: String {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return String(self[..<slash])
    }

    package var lastComponent: String { String(split(separator: "/").last ?? "") }
}

extension AccountError {
    /// Whether the entry exists, but is damaged, too large, a link or a folder.
    var isAboutEntry: Bool {
        if code == .damaged { return true }
        guard let cause = cause as? SystemCallError else { return false }
        return cause.isLink || cause.isDirectory
    }
}
