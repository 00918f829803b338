#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The file that keeps the server's state across restarts.
///
/// The file contains valid tokens, so it is created with mode 0600 and never has another mode. It is replaced
/// atomically: a reader sees the state either before or after a change. The file is not synced to disk, since an
/// example must survive its own restart, but not that of the machine.
struct StateFile: Sendable {
    /// The reason why the state could not be read or written.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let path: String

    /// Loads the state, or returns a new one if the file does not exist.
    ///
    /// - Throws: `Failure` if the file cannot be used. In that case, the server must not start, since its first change
    ///   would replace the file.
    func load() throws -> ServerState {
        guard let bytes = try contents() else { return ServerState() }
        let state: ServerState
        do {
            state = try Self.decoder.decode(ServerState.self, from: bytes)
        } catch {
            throw Failure(description: "\(path) is not a state file of auth-server")
        }
        guard state.version == ServerState.currentVersion else {
            throw Failure(description: "\(path) has format version \(state.version), not \(ServerState.currentVersion)")
        }
        return state
    }

    /// Replaces the file.
    func save(_ state: ServerState) throws {
        let bytes = try Self.encoder.encode(state)
        let temporaryPath = path + ".new"
        guard unlink(temporaryPath) == 0 || errno == ENOENT else { throw failure("unlink", temporaryPath) }
        let descriptor = open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(0o600))
        guard descriptor >= 0 else { throw failure("open", temporaryPath) }
        do {
            defer { close(descriptor) }
            try write(bytes, to: descriptor)
        }
        guard rename(temporaryPath, path) == 0 else { throw failure("rename", temporaryPath) }
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return encoder
    }

    private static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        return decoder
    }
}

// MARK: - System calls

extension StateFile {
    /// The bytes of the file, or `nil` if it does not exist. A symbolic link is rejected, since a later save would
    /// replace it.
    private func contents() throws -> Data? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("open", path)
        }
        defer { close(descriptor) }
        var bytes = Data()
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count >= 0 else {
                if errno == EINTR { continue }
                throw failure("read", path)
            }
            if count == 0 { return bytes }
            bytes.append(contentsOf: buffer[..<count])
        }
    }

    private func write(_ bytes: Data, to descriptor: Int32) throws {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(descriptor, $0) }
            guard count >= 0 else {
                if errno == EINTR { continue }
                throw failure("write", path)
            }
            rest = rest.dropFirst(count)
        }
    }

    private func failure(_ call: String, _ path: String) -> Failure {
        let code = errno
        return Failure(description: "\(path): \(String(cString: strerror(code))) (\(call), errno \(code))")
    }
}

/// `write(2)`, which the method of the same name would hide.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}
