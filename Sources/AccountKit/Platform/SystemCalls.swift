import CAccountKitShims

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

package struct SystemCallError: Error, Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    package let call: String

    package let path: String

    package let errno: Int32

    package var description: String { "\(path): \(reason)" }

    package var reason: String { Self.text(errno) }

    /// A description for `--verbose`, such as `open "/tmp/x": No such file or directory (ENOENT)`.
    package var debugDescription: String {
        "\(call) \"\(path)\": \(reason) (\(Self.name(errno)))"
    }

    package init(_ call: String, _ path: String, errno: Int32) {
        self.call = call
        self.path = path
        self.errno = errno
    }

    package static func readsDirectory(_ path: String) -> SystemCallError {
        SystemCallError("read", path, errno: EISDIR)
    }

    package var isNoEntry: Bool { errno == ENOENT }
    package var isLink: Bool { errno == ELOOP }
    package var isDirectory: Bool { errno == EISDIR }
    package var isRefusal: Bool { errno == EACCES || errno == EPERM || errno == EINVAL }
    /// Whether the file system supports no locks, such as a network file system without its lock service.
    package var isUnsupportedLock: Bool {
        call == "lock" && [ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL].contains(errno)
    }

    package var isUnsupported: Bool { errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS }

    package static func text(_ errno: Int32) -> String {
        strerror(errno).map { String(cString: $0) } ?? "error \(errno)"
    }

    private static func name(_ errno: Int32) -> String {
        accountkit_errno_name(errno).map { String(cString: $0) } ?? "errno \(errno)"
    }
}

package struct FileStatus: Sendable {
    package enum Kind: Sendable { case regular, directory, symbolicLink, other }

    package let kind: Kind
    package let owner: UInt32
    package let permissions: UInt32
    package let byteCount: Int
}

package struct FileIdentity: Sendable, Hashable {
    let device: UInt64
    let inode: UInt64
    let seconds: Int
    let nanoseconds: Int
}

/// An open file, with the system calls that the archive needs. This type makes no decisions.
package struct FileDescriptor: ~Copyable {
    package let number: Int32
    package let path: String

    init(adopting number: Int32, path: String) {
        self.number = number
        self.path = path
    }

    deinit { _ = close(number) }

    /// Opens a file for reading. This call doesn't wait for the other end of a pipe, and doesn't acquire a controlling
    /// terminal.
    package static func openForReading(
        _ path: String, followingLinks: Bool = false
    ) throws(SystemCallError) -> FileDescriptor {
        try open(path, O_RDONLY | O_NONBLOCK | (followingLinks ? O_NOCTTY : O_NOFOLLOW))
    }

    package static func openDirectory(_ path: String) throws(SystemCallError) -> FileDescriptor {
        try open(path, O_RDONLY | O_DIRECTORY)
    }

    package static func openForUpdate(_ path: String) throws(SystemCallError) -> FileDescriptor {
        try open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
    }

    package static func openForWriting(_ path: String) throws(SystemCallError) -> FileDescriptor {
        try open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK)
    }

    /// Creates a new file. Fails if the name exists, even as a dangling link.
    package static func create(_ path: String) throws(SystemCallError) -> FileDescriptor {
        try open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
    }

    private static func open(_ path: String, _ flags: Int32) throws(SystemCallError) -> FileDescriptor {
        let number = try SystemCall.retrying("open", path) { sysOpen(path, flags | O_CLOEXEC) }
        return FileDescriptor(adopting: number, path: path)
    }

    package borrowing func status() throws(SystemCallError) -> FileStatus {
        var info = stat()
        try SystemCall.check("fstat", path, fstat(number, &info))
        return FileStatus(info)
    }

    /// Reads to the end, or at least one byte past `limit`, so that the caller can detect a longer file.
    package borrowing func read(limit: Int, expected: Int) throws(SystemCallError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            let room = max(min(expected, limit) + 1 - bytes.count, 4096)
            var failure: Int32 = 0
            let chunk = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                let got = sysRead(number, buffer.baseAddress!, room)
                if got < 0 { failure = errno }
                count = max(got, 0)
            }
            if failure == EINTR { continue }
            guard failure == 0 else { throw SystemCallError("read", path, errno: failure) }
            if chunk.isEmpty { break }
            if bytes.isEmpty { bytes = chunk } else { bytes += chunk }
            // The call returned fewer bytes than requested, and the file has the expected size, so this is the end.
            if bytes.count == expected, chunk.count < room { break }
        }
        return bytes
    }

    /// Reads up to the end of the file or of `buffer`, without an extra copy, and returns the number of bytes.
    package borrowing func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemCallError) -> Int {
        var count = 0
        while count < buffer.count {
            let got = sysRead(number, buffer.baseAddress! + count, buffer.count - count)
            if got < 0 {
                if errno == EINTR { continue }
                // The pipe is empty, and another program still has the pipe open.
                if errno == EAGAIN { break }
                throw SystemCallError("read", path, errno: errno)
            }
            if got == 0 { break }
            count += got
        }
        return count
    }

    package borrowing func isAtEnd() throws(SystemCallError) -> Bool {
        var byte: UInt8 = 0
        return try withUnsafeMutableBytes(of: &byte) { byte throws(SystemCallError) in try read(into: byte) } == 0
    }

    package borrowing func write(_ bytes: [UInt8]) throws(SystemCallError) {
        try bytes.withUnsafeBufferPointer { bytes throws(SystemCallError) in try write(UnsafeRawBufferPointer(bytes)) }
    }

    package borrowing func write(_ bytes: UnsafeRawBufferPointer) throws(SystemCallError) {
        var offset = 0
        while offset < bytes.count {
            let count = sysWrite(number, bytes.baseAddress! + offset, bytes.count - offset)
            if count < 0 {
                if errno == EINTR { continue }
                throw SystemCallError("write", path, errno: errno)
            }
            // A write to a regular file never writes 0 bytes. If it did, the loop would not end.
            guard count > 0 else { throw SystemCallError("write", path, errno: EIO) }
            offset += count
        }
    }

    /// Tries to lock the file, which must be open for reading and writing; returns `false` if another process holds a
    /// lock that excludes this one.
    package borrowing func tryLock(isShared: Bool = false) throws(SystemCallError) -> Bool {
        if (isShared ? accountkit_try_shared_lock(number) : accountkit_try_lock(number)) == 0 { return true }
        let code = errno
        if code == EAGAIN || code == EACCES || code == EWOULDBLOCK || code == EINTR { return false }
        throw SystemCallError("lock", path, errno: code)
    }

    package borrowing func setPermissions(_ permissions: UInt32) throws(SystemCallError) {
        try SystemCall.check("fchmod", path, fchmod(number, mode_t(permissions)))
    }

    package borrowing func truncate(to count: Int) throws(SystemCallError) {
        try SystemCall.check("ftruncate", path, ftruncate(number, off_t(count)))
    }

    package borrowing func seek(to position: Int) throws(SystemCallError) {
        try SystemCall.check("lseek", path, lseek(number, off_t(position), SEEK_SET) < 0 ? -1 : 0)
    }

    package borrowing func isAtItsPath() throws(SystemCallError) -> Bool {
        var (own, found) = (stat(), stat())
        try SystemCall.check("fstat", path, fstat(number, &own))
        if lstat(path, &found) == 0 { return own.st_ino == found.st_ino && own.st_dev == found.st_dev }
        if errno == ENOENT { return false }
        throw SystemCallError("lstat", path, errno: errno)
    }

    package borrowing func reserve(_ count: Int) throws(SystemCallError) {
        let code = accountkit_reserve(number, off_t(count))
        guard code == 0 else { throw SystemCallError("fallocate", path, errno: code) }
    }

    /// Flushes the content to the disk. After a failure the state of the content is unknown, so do not retry with the
    /// same file.
    package borrowing func synchronize() throws(SystemCallError) {
        try SystemCall.check("fsync", path, accountkit_sync(number))
    }
}

package struct FileLock: ~Copyable {
    private let file: FileDescriptor

    package init(_ path: String) throws(SystemCallError) {
        let file = try FileDescriptor.openForUpdate(path)
        // A umask may have removed permissions that the next process needs.
        if try file.status().permissions != 0o600 { try file.setPermissions(0o600) }
        self.file = file
    }

    /// Releases the lock explicitly: a forked child that has not yet started another program has the file open too, and
    /// the kernel would release the lock only when the last descriptor is closed.
    deinit { accountkit_unlock(file.number) }

    package borrowing func tryTake(isShared: Bool = false) throws(SystemCallError) -> Bool {
        try file.tryLock(isShared: isShared)
    }
}

package enum SystemCall {
    package static var effectiveUser: UInt32 { geteuid() }

    package static var parentProcess: Int32 { getppid() }
    package static var processID: Int32 { getpid() }

    package static var hostName: String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            buffer.initialize(repeating: 0)
            // Pass one byte less, since a name that does not fit has no terminator.
            return gethostname(buffer.baseAddress!, buffer.count - 1) == 0 ? String(cString: buffer.baseAddress!) : nil
        }
    }

    package static func userName(_ user: UInt32) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        // Use the reentrant function, since other threads may read the database at the same time.
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 * 1024) { buffer in
            let status = getpwuid_r(user, &entry, buffer.baseAddress!, buffer.count, &found)
            guard status == 0, found != nil, let name = entry.pw_name else { return "user \(user)" }
            return String(cString: name)
        }
    }

    static func ownership(_ owner: UInt32) -> String {
        let (owner, user) = (userName(owner), userName(effectiveUser))
        return "belongs to \(owner), but this program runs as \(user): run it as \(owner)"
            + (effectiveUser == 0 ? " (without sudo)" : "")
    }

    package static func isReadable(_ path: String) -> Bool { access(path, R_OK) == 0 }

    package static func addresses(of host: String) -> [String] {
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, nil, &found) == 0 else { return [] }
        defer { freeaddrinfo(found) }
        var addresses: [String] = []
        var next = found
        while let entry = next?.pointee {
            next = entry.ai_next
            let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { buffer -> String? in
                let status = getnameinfo(
                    entry.ai_addr, entry.ai_addrlen, buffer.baseAddress, socklen_t(buffer.count), nil, 0, NI_NUMERICHOST
                )
                return status == 0 ? String(cString: buffer.baseAddress!) : nil
            }
            // The list has one entry for each kind of socket.
            if let text, !addresses.contains(text) { addresses.append(text) }
        }
        return addresses
    }

    package static func checkWritable(_ folder: String) throws(SystemCallError) {
        try check("access", folder, access(folder, W_OK | X_OK))
    }

    package static func status(_ path: String) throws(SystemCallError) -> FileStatus? {
        try info(of: path, followingLink: false).map { FileStatus($0) }
    }

    package static func targetStatus(_ path: String) throws(SystemCallError) -> FileStatus? {
        try info(of: path, followingLink: true).map { FileStatus($0) }
    }

    private static func info(of path: String, followingLink: Bool) throws(SystemCallError) -> stat? {
        var info = stat()
        if (followingLink ? stat(path, &info) : lstat(path, &info)) == 0 { return info }
        if errno == ENOENT { return nil }
        throw SystemCallError(followingLink ? "stat" : "lstat", path, errno: errno)
    }

    package static func identity(
        _ path: String, followingLink: Bool = false
    ) throws(SystemCallError) -> FileIdentity? {
        guard let info = try info(of: path, followingLink: followingLink) else { return nil }
        #if canImport(Darwin)
        let changed = info.st_ctimespec
        #else
        let changed = info.st_ctim
        #endif
        return FileIdentity(
            device: UInt64(truncatingIfNeeded: info.st_dev), inode: UInt64(info.st_ino), seconds: changed.tv_sec,
            nanoseconds: changed.tv_nsec)
    }

    /// Creates a directory for its owner only; returns `false` if the name exists.
    package static func makeDirectory(_ path: String) throws(SystemCallError) -> Bool {
        try succeeded("mkdir", path, mkdir(path, 0o700), orFailedWith: EEXIST)
    }

    /// Changes the permissions of a file or folder, but never those of the target of a link.
    package static func changePermissions(_ path: String, _ permissions: UInt32) throws(SystemCallError) {
        guard try status(path)?.kind != .symbolicLink else { throw SystemCallError("chmod", path, errno: ELOOP) }
        if fchmodat(AT_FDCWD, path, mode_t(permissions), AT_SYMLINK_NOFOLLOW) == 0 { return }
        // The C library needs /proc for this flag.
        guard errno == EOPNOTSUPP || errno == ENOSYS else { throw SystemCallError("chmod", path, errno: errno) }
        try check("chmod", path, chmod(path, mode_t(permissions)))
    }

    /// Returns the path that a symbolic link contains.
    static func linkTarget(_ path: String) throws(SystemCallError) -> String {
        let target = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer -> String? in
            let count = readlink(path, buffer.baseAddress!, buffer.count)
            return count < 0 ? nil : String(decoding: UnsafeRawBufferPointer(buffer).prefix(count), as: UTF8.self)
        }
        guard let target else { throw SystemCallError("readlink", path, errno: errno) }
        return target
    }

    package static func rename(_ source: String, to destination: String) throws(SystemCallError) {
        try check("rename", destination, sysRename(source, destination))
    }

    /// Creates a second name for a file; returns `false` if the name exists.
    package static func link(_ source: String, as destination: String) throws(SystemCallError) -> Bool {
        try succeeded("link", destination, sysLink(source, destination), orFailedWith: EEXIST)
    }

    /// Removes a file; returns `false` if there was no such file.
    @discardableResult
    package static func remove(_ path: String) throws(SystemCallError) -> Bool {
        try succeeded("unlink", path, unlink(path), orFailedWith: ENOENT)
    }

    /// Removes a file that its process keeps locked while it uses the file, if that process has ended. An error leaves
    /// the file for the next attempt.
    package static func removeUnlessLocked(_ path: String) {
        guard let file = try? FileDescriptor.openForWriting(path), (try? file.tryLock()) == true else { return }
        // Remove the file under the lock, so that a process that has just created it does not begin to use it.
        _ = try? remove(path)
    }

    /// Returns the names in a directory, without `.` and `..`; empty if there is no such directory.
    package static func names(in path: String) throws(SystemCallError) -> [String] {
        guard let directory = opendir(path) else {
            if errno == ENOENT { return [] }
            throw SystemCallError("opendir", path, errno: errno)
        }
        defer { closedir(directory) }
        var names: [String] = []
        while true {
            // Only errno distinguishes an error from the end.
            errno = 0
            guard let entry = readdir(directory) else {
                if errno != 0 { throw SystemCallError("readdir", path, errno: errno) }
                break
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    package static func synchronizeDirectory(_ path: String) throws(SystemCallError) {
        try FileDescriptor.openDirectory(path).synchronize()
    }

    package static func forbidDumps() throws(SystemCallError) {
        try check("prctl", "PR_SET_DUMPABLE", accountkit_forbid_dumps())
    }

    package static func check(_ call: String, _ path: String, _ status: Int32) throws(SystemCallError) {
        guard status == 0 else { throw SystemCallError(call, path, errno: errno) }
    }

    /// Returns whether a call succeeded; `false` if the call failed with the error `expected`. Throws any other error.
    private static func succeeded(
        _ call: String, _ path: String, _ status: Int32, orFailedWith expected: Int32
    ) throws(SystemCallError) -> Bool {
        if status != 0, errno == expected { return false }
        try check(call, path, status)
        return true
    }

    package static func retrying(
        _ call: String, _ path: String, _ body: () -> Int32
    ) throws(SystemCallError) -> Int32 {
        while true {
            let result = body()
            if result >= 0 { return result }
            guard errno == EINTR else { throw SystemCallError(call, path, errno: errno) }
        }
    }
}

extension FileStatus {
    fileprivate init(_ info: stat) {
        switch info.st_mode & S_IFMT {
        case S_IFREG: kind = .regular
        case S_IFDIR: kind = .directory
        case S_IFLNK: kind = .symbolicLink
        default: kind = .other
        }
        owner = info.st_uid
        permissions = UInt32(info.st_mode) & 0o7777
        byteCount = Int(info.st_size)
    }
}

extension [UInt8] {
    /// Returns whether both arrays contain the same bytes. Uses the C library, since `==` compares the bytes one by
    /// one.
    func isSame(as other: [UInt8]) -> Bool { count == other.count && memcmp(self, other, count) == 0 }
}

// Functions of the C library. Inside the types above, functions with the same names shadow them.
private func sysOpen(_ path: String, _ flags: Int32) -> Int32 { open(path, flags, 0o600) }
private func sysRename(_ source: String, _ destination: String) -> Int32 { rename(source, destination) }
private func sysLink(_ source: String, _ destination: String) -> Int32 { link(source, destination) }

private func sysRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}

private func sysWrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer, _ count: Int) -> Int {
    write(descriptor, buffer, count)
}
