import AccountCommands
import AccountKit
import AccountSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A configuration file of another program. It is replaced atomically, with its permissions, and through links of the
/// user.
struct ConfigurationFile {
    /// The path as the user or the other program names it.
    let path: String

    private static let maximumByteCount = 4 << 20

    /// Reads the file; `nil` if there is none.
    func read() throws(AccountError) -> [UInt8]? {
        let target = try target()
        do throws(SystemCallError) {
            guard let status = try SystemCall.status(target) else { return nil }
            guard status.kind == .regular else { throw SystemCallError.readsDirectory(path) }
            let bytes = try FileDescriptor.openForReading(target)
                .read(limit: Self.maximumByteCount, expected: status.byteCount)
            guard bytes.count <= Self.maximumByteCount else { throw SystemCallError("read", path, errno: EFBIG) }
            return bytes
        } catch {
            throw AccountError(.inaccessible, "\(path) cannot be read", cause: error)
        }
    }

    /// Replaces the contents.
    ///
    /// - Parameters:
    ///   - bytes: The new contents.
    ///   - old: The contents that the change is based on; `nil` if there was no file.
    ///   - makesFolder: Whether to create the folder of the file.
    /// - Throws: `conflict` if another program has changed the file since it was read.
    func replace(_ old: [UInt8]?, with bytes: [UInt8], makesFolder: Bool = false) throws(AccountError) {
        let target = try target()
        let parts = target.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.count == 1 ? "." : parts.count == 2 ? "/" : parts.dropLast().joined(separator: "/")
        let temporary = "\(folder)/.\(parts.last ?? "").\(String(UInt64.random(in: 0 ... .max), radix: 36)).tmp"
        do throws(SystemCallError) {
            if makesFolder { _ = try SystemCall.makeDirectory(folder) }
            let status = try SystemCall.status(target)
            if let status, status.owner != SystemCall.effectiveUser {
                throw SystemCallError("chown", path, errno: EPERM)
            }
            let file = try FileDescriptor.create(temporary)
            do throws(SystemCallError) {
                try file.write(bytes)
                // Set the permissions after writing: the old ones may allow no writing.
                try file.setPermissions(status.map { $0.permissions & 0o777 } ?? 0o600)
                try file.synchronize()
            } catch {
                _ = try? SystemCall.remove(temporary)
                throw error
            }
        } catch {
            throw AccountError(.inaccessible, "\(path) cannot be changed", cause: error)
        }
        do {
            guard try read() == old else {
                throw AccountError(.conflict, "another program has just changed \(path)", hint: "try again")
            }
            try SystemCall.rename(temporary, to: target)
        } catch {
            _ = try? SystemCall.remove(temporary)
            throw error as? AccountError ?? AccountError(.inaccessible, "\(path) cannot be changed", cause: error)
        }
        // The change is complete. A power cut could only undo it.
        try? SystemCall.synchronizeDirectory(folder)
    }

    /// The file that the path leads to, through links that another user cannot have made.
    private func target() throws(AccountError) -> String {
        let target = try TrustedLinks.resolve(path)
        do throws(SystemCallError) {
            guard try SystemCall.status(target) == nil, try SystemCall.status(path)?.kind == .symbolicLink else {
                return target
            }
        } catch {
            throw AccountError(.inaccessible, "\(path) cannot be read", cause: error)
        }
        throw AccountError(.invalidArgument, "\(path) is a link to a file that does not exist")
    }
}

extension JSONEdit {
    /// Sets a value in a configuration file.
    ///
    /// - Throws: `damaged` if a member on the way to the value is not an object.
    mutating func set(_ value: Value, at place: [String], in path: String) throws(AccountError) {
        do {
            try set(value, at: place)
        } catch {
            throw AccountError(
                .damaged, "\(error.name.shown) in \(path) is not an object, so the file was not changed",
                hint: "correct the file")
        }
    }
}
