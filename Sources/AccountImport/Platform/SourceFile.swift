import AccountKit
import Sealing

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The system calls of this module: reads a regular file into guarded memory.
enum SourceFile {
    /// Opens without blocking on a pipe, checks kind and size on the open file, and reads it to its end.
    static func read(_ path: String) throws(ImportFault) -> SourceBytes {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .unusable("This is not a path.") }
        let descriptor = retrying { open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) }
        guard descriptor >= 0 else { throw failure("open", errno) }
        defer { close(descriptor) }

        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("fstat", errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .unusable(
                status.st_mode & S_IFMT == S_IFDIR
                    ? "It is a folder; name the file in it." : "It is not a regular file; copy what it gives into one.")
        }
        guard status.st_size <= ImportLimits.fileByteCount else { throw .tooLarge }
        let count = Int(status.st_size)
        let bytes = try GuardedBytes(count: count) { buffer throws(ImportFault) in
            try fill(buffer, from: descriptor)
        }
        return SourceBytes(bytes)
    }

    private static func fill(_ buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32) throws(ImportFault) {
        var filled = 0
        while filled < buffer.count {
            let count = retrying { Self.read(descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])) }
            guard count >= 0 else { throw failure("read", errno) }
            guard count > 0 else {
                throw .damaged("it became shorter while it was read")
            }
            filled += count
        }
    }

    private static func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        #if canImport(Darwin)
        Darwin.read(descriptor, buffer.baseAddress, buffer.count)
        #elseif canImport(Musl)
        Musl.read(descriptor, buffer.baseAddress, buffer.count)
        #else
        Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        #endif
    }

    private static func retrying<Result: SignedInteger>(_ call: () -> Result) -> Result {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    private static func failure(_ call: String, _ code: Int32) -> ImportFault {
        let message =
            switch code {
            case ENOENT, ENOTDIR: "There is no such file; check the path."
            case EACCES, EPERM: "You may not read it; see its permissions and those of the folders above it."
            default: "The system could not read it."
            }
        return ImportFault(code: .inaccessible, message: message, cause: SystemCallFailure(call: call, errno: code))
    }
}

/// A system call that failed.
struct SystemCallFailure: Error, CustomStringConvertible {
    let call: String
    let errno: Int32

    var description: String { "\(call) failed with errno \(errno)" }
}
