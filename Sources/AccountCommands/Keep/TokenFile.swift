import AccountKit
import CAccountKitShims

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A file that has a token in it and nothing else, not even a newline: some programs send the file as it is.
///
/// It is replaced as a whole, so who opens it reads one token from the first byte to the last. The file is for its owner only.
struct TokenFile: Sendable {
    /// No token is longer.
    private static let maximumByteCount = 64 * 1024

    let path: String
    let folder: String
    private let name: String

    /// Looks at the place, and changes nothing.
    ///
    /// - Throws: `invalidArgument` if there is something else than a token, which is not to be lost.
    init(path: String) throws(AccountError) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard let name = parts.last, !name.isEmpty, name != ".", name != ".." else {
            throw AccountError(.invalidArgument, "\(path.shellWord) does not name a file")
        }
        self.path = path
        self.name = String(name)
        folder =
            parts.count == 1
            ? "." : parts.count == 2 && parts[0].isEmpty ? "/" : parts.dropLast().joined(separator: "/")
        try checkFolder()
        guard try isReplaceable() else {
            throw AccountError(
                .invalidArgument,
                "\(path.shellWord) is there already, and is not a file of yours with a token in it: move it away, or take "
                    + "another name")
        }
    }

    /// The file of a session where nobody says otherwise, in the container's folder for what is gone after the run. The folder
    /// is made.
    static func place(
        of session: SessionName, in container: AppContainer
    ) throws(AccountError) -> TokenFile {
        var folder = container.temporary.path(percentEncoded: false)
        if folder.hasSuffix("/") { folder.removeLast() }
        do throws(SystemCallError) {
            if try SystemCall.targetStatus(folder) == nil {
                if let parent = folder.lastIndex(of: "/"), try SystemCall.targetStatus(String(folder[..<parent])) == nil
                {
                    _ = try SystemCall.makeDirectory(String(folder[..<parent]))
                }
                if try SystemCall.makeDirectory(folder) { try SystemCall.changePermissions(folder, 0o700) }
            }
        } catch {
            throw AccountError(.inaccessible, "the folder \(folder) cannot be made", cause: error)
        }
        try ArchiveDirectory(path: folder, root: folder).checkTrust()
        return try TokenFile(path: folder + "/" + session.rawValue + ".token")
    }

    private func checkFolder() throws(AccountError) {
        let status: FileStatus?
        do {
            status = try SystemCall.targetStatus(folder)
        } catch {
            throw AccountError(.inaccessible, "the folder \(folder) cannot be looked at", cause: error)
        }
        guard let status else {
            throw AccountError(
                .invalidArgument, "there is no folder \(folder): make it with `mkdir -m 700 \(folder.shellWord)`")
        }
        guard status.kind == .directory else { throw AccountError(.invalidArgument, "\(folder) is not a folder") }
    }

    /// What others can do to the file, or where it would stay after a power cut; `nil` if all is well.
    var warning: String? {
        if accountkit_is_in_memory(folder) == 0 {
            return "\(path) is on a disk, where a token can be found after it was removed: a folder in memory, such as "
                + "$XDG_RUNTIME_DIR, is better"
        }
        // Where it cannot be looked at, writing says so.
        guard let status = try? SystemCall.targetStatus(folder) else { return nil }
        let isShared = status.permissions & 0o022 != 0 && status.permissions & 0o1000 == 0
        return isShared ? "others can write to \(folder), and could put a file of theirs in place of \(path)" : nil
    }

    /// Whether there is nothing, or a file as this one writes it.
    private func isReplaceable() throws(AccountError) -> Bool {
        do throws(SystemCallError) {
            guard let status = try SystemCall.status(path) else { return true }
            guard status.kind == .regular, status.owner == SystemCall.effectiveUser,
                status.byteCount <= Self.maximumByteCount
            else { return false }
            var bytes = try FileDescriptor.openForReading(path).read(
                limit: Self.maximumByteCount, expected: status.byteCount)
            defer { for index in bytes.indices { bytes[index] = 0 } }
            if bytes.last == UInt8(ascii: "\n") { bytes[bytes.count - 1] = UInt8(ascii: "-") }
            // RFC 6750, section 2.1, has fewer characters than that; any text has others.
            return bytes.allSatisfy { 0x21...0x7E ~= $0 }
        } catch {
            throw AccountError(.inaccessible, "\(path) cannot be read", cause: error)
        }
    }

    /// Puts a token in place of what is there: all of it or nothing.
    func write(_ token: Secret) throws(AccountError) {
        guard try isReplaceable() else {
            throw AccountError(.conflict, "\(path) is not a token any more: another program has put something there")
        }
        sweep()
        let temporary = temporaryPrefix + String(UInt64.random(in: 0 ... .max), radix: 36)
        do throws(SystemCallError) {
            let file = try FileDescriptor.create(temporary)
            do throws(SystemCallError) {
                // Whoever sweeps sees by the lock that it is not left over. Until it is whole, nobody can read it.
                _ = try file.tryLock()
                try file.setPermissions(0o200)
                try token.withUnsafeBytes { bytes throws(SystemCallError) in try file.write(bytes) }
                try file.synchronize()
                try file.setPermissions(0o600)
                try SystemCall.rename(temporary, to: path)
            } catch {
                // The error that there was says more.
                _ = try? SystemCall.remove(temporary)
                throw error
            }
        } catch {
            throw AccountError(.inaccessible, "the token cannot be written to \(path)", cause: error)
        }
        // The file need not survive a power cut: the next start writes it again.
        try? SystemCall.synchronizeDirectory(folder)
    }

    /// - Returns: Whether there was one.
    @discardableResult
    func remove() throws(AccountError) -> Bool {
        sweep()
        // What somebody else has put there is not ours to remove.
        guard try isReplaceable() else { return false }
        do {
            return try SystemCall.remove(path)
        } catch {
            throw AccountError(.inaccessible, "\(path) cannot be removed", cause: error)
        }
    }

    private var temporaryPrefix: String { folder + "/." + name + ".keep-" }

    /// Removes what a run has left behind that was killed while it wrote.
    private func sweep() {
        // It stays for the next time if it cannot be done now.
        guard let names = try? SystemCall.names(in: folder) else { return }
        for name in names where name.hasPrefix("." + self.name + ".keep-") {
            let path = folder + "/" + name
            if let file = try? FileDescriptor.openForWriting(path), (try? file.tryLock()) == true {
                _ = try? SystemCall.remove(path)
            }
        }
    }
}
