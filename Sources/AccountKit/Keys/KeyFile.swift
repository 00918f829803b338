import Sealing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A file of exactly 32 random bytes with mode 0600, made at the first sign-in; the default.
///
/// It protects copies and backups of the archive, which are made without it. It does not protect against someone who can
/// read all of the user's files.
public struct KeyFile: KeySource {
    /// Where the file is.
    public let path: String

    /// A key file.
    ///
    /// - Parameter path: An absolute path. Folders on the way are made when the key is.
    public init(path: String) {
        self.path = path
    }

    /// The key file of a container: `Account.key` in its `keys` folder.
    public init(container: AppContainer) {
        self.init(path: container.keys.appending(path: "Account.key").path(percentEncoded: false))
    }

    /// A file.
    public var kind: KeyKind { .keyFile }

    /// Reads the file; `nil` if there is none.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/insecureContainer`` if others can read it or it is someone else's, and
    ///   ``AccountError/Code-swift.struct/damaged`` if it does not have 32 bytes.
    public func key() async throws -> ArchiveKey? {
        do {
            let file = try FileDescriptor.openForReading(path)
            let status = try file.status()
            guard status.kind == .regular else {
                throw AccountError(.inaccessible, "\(path) is not a file: put the key file there")
            }
            guard status.owner == SystemCall.effectiveUser else {
                throw AccountError(
                    .insecureContainer,
                    "the key file \(path) belongs to user \(status.owner), and this runs as user "
                        + "\(SystemCall.effectiveUser): run it as that user (without sudo)")
            }
            guard status.permissions & 0o077 == 0 else {
                throw AccountError(.insecureContainer, "others can use the key file \(path): run `chmod 600 \(path)`")
            }
            // One byte more, to see that there is none.
            var count = 0
            let bytes = try GuardedBytes(count: 33) { buffer throws(SystemCallError) in
                count = try file.read(into: buffer)
            }
            guard count == 32 else {
                throw AccountError(
                    .damaged, "the key file \(path) does not have 32 bytes: put the right one there, from a backup")
            }
            return try bytes.withUnsafeBytes { key throws(AccountError) in try ArchiveKey(bytes: key.prefix(count)) }
        } catch let error as SystemCallError where error.isNoEntry {
            return nil
        } catch let error as SystemCallError {
            throw AccountError(.inaccessible, "the key file \(path) cannot be read", cause: error)
        }
    }

    /// Makes the file, unless another process has just done so; then its key counts.
    public func makeKey() async throws -> ArchiveKey {
        let folder = ArchiveDirectory(path: path.parentDirectory, root: path.parentDirectory)
        try folder.checkTrust()
        try folder.make(before: path.lastComponent)
        let key = ArchiveKey.random()
        guard case .key(let bytes) = key.opener else { preconditionFailure("a random key is 32 bytes") }
        try mapping(path) { () throws(SystemCallError) in
            let temporary = "\(path).\(Sodium.randomBytes(count: 8).map { String($0, radix: 16) }.joined()).tmp"
            let file = try FileDescriptor.create(temporary)
            defer { _ = try? SystemCall.remove(temporary) }
            try file.setPermissions(0o600)
            try bytes.withUnsafeBytes { bytes throws(SystemCallError) in try file.write(bytes) }
            try file.synchronize()
            do throws(SystemCallError) {
                // A link fails if there is a file already, a rename would replace it.
                _ = try SystemCall.link(temporary, as: path)
            } catch  where error.isNoEntry {
                // Whoever was faster has tidied up.
            }
            try SystemCall.synchronizeDirectory(folder.path)
        }
        guard let stored = try await self.key() else {
            throw AccountError(.inaccessible, "the key file \(path) was removed as soon as it was made")
        }
        return stored
    }

    /// Waits until the disk has the file, before an archive is sealed with it for the first time: whoever made it may have
    /// died before that. Removes what that one left behind.
    func settle() throws(AccountError) {
        let folder = path.parentDirectory
        for leftover in try leftovers() {
            // What cannot be removed is in nobody's way.
            _ = try? SystemCall.remove(leftover)
        }
        try mapping(path) { () throws(SystemCallError) in try SystemCall.synchronizeDirectory(folder) }
    }

    /// The files that were to become the key, left behind by processes that died.
    package func leftovers() throws(AccountError) -> [String] {
        let folder = path.parentDirectory
        let prefix = path.lastComponent + "."
        return try mapping(folder) { () throws(SystemCallError) in
            try SystemCall.names(in: folder).filter { name in
                guard name.hasPrefix(prefix), name.hasSuffix(".tmp") else { return false }
                let digits = name.dropFirst(prefix.count).dropLast(4)
                return (1...16).contains(digits.utf8.count) && digits.allSatisfy { $0.isHexDigit && !$0.isUppercase }
            }.map { folder + "/" + $0 }
        }
    }
}
