import AccountCommands
import AccountKit
import CAccountKitShims
import AccountSupport

/// A file that contains only a token, without a newline, because some programs send the file unchanged.
///
/// The file is replaced atomically, so readers always see one complete token. Only the owner can read the file. This
/// type never replaces or removes a file that it did not write; see ``WrittenTokens``.
struct TokenFile: Sendable {
    private static let maximumByteCount = 64 * 1024

    let path: String
    let folder: String
    private let name: String
    private let written: WrittenTokens
    private let knownTokens: [Secret]

    /// Inspects the place, without changing anything. Files with `knownTokens` may be replaced, because these tokens
    /// are also stored elsewhere. Throws `invalidArgument` if another program wrote the file.
    init(path: String, knownTokens: [Secret] = []) throws(AccountError) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard let name = parts.last, !name.isEmpty, name != ".", name != ".." else {
            throw AccountError(.invalidArgument, "\(path.shellWord) does not name a file")
        }
        self.path = path
        self.name = String(name)
        self.knownTokens = knownTokens
        folder =
            parts.count == 1
            ? "." : parts.count == 2 && parts[0].isEmpty ? "/" : parts.dropLast().joined(separator: "/")
        written = WrittenTokens(path: folder + "/." + name + ".keep")
        try checkFolder()
        if case .foreign = try contents() {
            throw AccountError(
                .invalidArgument,
                "\(path.shellWord) already exists, and is not a token that `keep` wrote",
                hint: "move the file away, or choose another name")
        }
    }

    /// Returns the default file of a session, in the container's folder for temporary data. Creates the folder.
    static func place(
        of session: SessionName, in container: AppContainer, knownTokens: [Secret] = []
    ) throws(AccountError) -> TokenFile {
        let folder = container.temporaryPath
        let status: FileStatus?
        do throws(SystemCallError) {
            if try SystemCall.status(folder) == nil {
                if let parent = folder.lastIndex(of: "/"), try SystemCall.targetStatus(String(folder[..<parent])) == nil
                {
                    _ = try SystemCall.makeDirectory(String(folder[..<parent]))
                }
                if try SystemCall.makeDirectory(folder) { try SystemCall.changePermissions(folder, 0o700) }
            }
            status = try SystemCall.status(folder)
        } catch {
            throw AccountError(.inaccessible, "cannot create the folder \(folder)", cause: error)
        }
        // In a folder that all users share, such as /tmp, another user may have created a link there first.
        if let status, status.owner != SystemCall.effectiveUser {
            throw AccountError(
                .insecureContainer,
                "\(folder) belongs to \(SystemCall.userName(status.owner)), so no token is written there",
                hint: "choose another file with --file, or set XDG_RUNTIME_DIR")
        }
        try ArchiveDirectory(path: folder, root: folder).checkTrust()
        return try TokenFile(path: folder + "/" + session.rawValue + ".token", knownTokens: knownTokens)
    }

    private func checkFolder() throws(AccountError) {
        // Another user's link could lead to any folder of this user.
        _ = try TrustedLinks.resolve(folder)
        let status: FileStatus?
        do {
            status = try SystemCall.targetStatus(folder)
        } catch {
            throw AccountError(.inaccessible, "cannot inspect the folder \(folder)", cause: error)
        }
        guard let status else {
            throw AccountError(
                .invalidArgument, "there is no folder \(folder)",
                hint: "create it with `mkdir -m 700 \(folder.shellWord)`")
        }
        guard status.kind == .directory else { throw AccountError(.invalidArgument, "\(folder) is not a folder") }
    }

    /// Warnings about ways in which other users could replace the file, or read it from the disk later.
    var warnings: [String] {
        var warnings: [String] = []
        if accountkit_is_in_memory(folder) == 0 {
            warnings.append(
                "\(path) is on a disk, where a token can be recovered after its removal: use a folder in memory, "
                    + "such as $XDG_RUNTIME_DIR")
        }
        var folders = [folder]
        while folder.hasPrefix("/"), let last = folders.last, last.count > 1 {
            folders.append(last.parentDirectory.isEmpty ? "/" : last.parentDirectory)
        }
        for folder in folders {
            // If this fails, writing fails too and reports the reason.
            guard let status = try? SystemCall.targetStatus(folder) else { continue }
            guard status.permissions & 0o022 != 0, status.permissions & 0o1000 == 0 else { continue }
            warnings.append("other users can write to \(folder), and could replace \(path)")
        }
        return warnings
    }

    private enum Contents {
        /// There is no file, or an empty one.
        case nothing
        /// A token that may be replaced.
        case token(Secret)
        /// A file that another program wrote.
        case foreign
    }

    private func contents() throws(AccountError) -> Contents {
        do throws(SystemCallError) {
            // Another program's file is in the place of the hashes, so `keep` could not record what it writes.
            guard let known = try written.fingerprints() else { return .foreign }
            guard let status = try SystemCall.status(path) else { return .nothing }
            guard status.kind == .regular, status.owner == SystemCall.effectiveUser,
                status.byteCount <= Self.maximumByteCount
            else { return .foreign }
            var bytes = try FileDescriptor.openForReading(path).read(
                limit: Self.maximumByteCount, expected: status.byteCount)
            defer { for index in bytes.indices { bytes[index] = 0 } }
            guard !bytes.isEmpty else { return .nothing }
            let token = Secret(bytes: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...])
            return known.contains(token.fingerprint) || knownTokens.contains(token) ? .token(token) : .foreign
        } catch {
            throw AccountError(.inaccessible, "\(path) cannot be read", cause: error)
        }
    }

    func write(_ token: Secret) throws(AccountError) {
        let old: [Secret]
        switch try contents() {
        case .foreign:
            throw AccountError(.conflict, "\(path) no longer contains a token: another program replaced it")
        case .token(let secret): old = [secret]
        case .nothing: old = []
        }
        sweep()
        do throws(SystemCallError) {
            // Write the hashes first, so that the next run recognizes the token even if this process dies in between.
            let lines = written.lines(for: old + [token])
            try lines.withUnsafeBufferPointer { bytes throws(SystemCallError) in
                try replace(written.path, with: UnsafeRawBufferPointer(bytes))
            }
            try token.withUnsafeBytes { bytes throws(SystemCallError) in try replace(path, with: bytes) }
        } catch {
            throw AccountError(.inaccessible, "cannot write the token to \(path)", cause: error)
        }
        // The file need not survive a power cut: the next run writes it again.
        try? SystemCall.synchronizeDirectory(folder)
    }

    private func replace(_ path: String, with bytes: UnsafeRawBufferPointer) throws(SystemCallError) {
        let temporary = temporaryPrefix + String(UInt64.random(in: 0 ... .max), radix: 36)
        let file = try FileDescriptor.create(temporary)
        do throws(SystemCallError) {
            // The lock keeps `sweep` from removing the file. Until the file is complete, no process can read it.
            _ = try file.tryLock()
            try file.setPermissions(0o200)
            try file.write(bytes)
            try file.synchronize()
            try file.setPermissions(0o600)
            try SystemCall.rename(temporary, to: path)
        } catch {
            _ = try? SystemCall.remove(temporary)
            throw error
        }
    }

    @discardableResult
    func remove() throws(AccountError) -> Bool {
        sweep()
        if case .foreign = try contents() { return false }
        do throws(SystemCallError) {
            let wasThere = try SystemCall.remove(path)
            try SystemCall.remove(written.path)
            return wasThere
        } catch {
            throw AccountError(.inaccessible, "\(path) cannot be removed", cause: error)
        }
    }

    private var temporaryPrefix: String { written.path + "-" }

    private func sweep() {
        // On an error, leave the files for the next run.
        guard let names = try? SystemCall.names(in: folder) else { return }
        for name in names where name.hasPrefix("." + self.name + ".keep-") {
            SystemCall.removeUnlessLocked(folder + "/" + name)
        }
    }
}

/// The hashes of the last tokens that `keep` wrote to a file, in a hidden file in the same folder. `keep` replaces a
/// file only if its contents have one of these hashes. This check protects any other file that is moved to the same
/// path.
private struct WrittenTokens: Sendable {
    private static let heading = "SHA-256 of the tokens that keep wrote:"
    private static let maximumByteCount = 1024

    let path: String

    func lines(for tokens: [Secret]) -> [UInt8] {
        Array(([Self.heading] + tokens.map(\.fingerprint)).map { $0 + "\n" }.joined().utf8)
    }

    /// - Returns: `nil` if another program wrote the file; empty if there is no file.
    func fingerprints() throws(SystemCallError) -> Set<String>? {
        guard let status = try SystemCall.status(path) else { return [] }
        guard status.kind == .regular, status.owner == SystemCall.effectiveUser,
            status.byteCount <= Self.maximumByteCount
        else { return nil }
        let bytes = try FileDescriptor.openForReading(path).read(
            limit: Self.maximumByteCount, expected: status.byteCount)
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard lines.first == Self.heading[...] else { return nil }
        return Set(lines.dropFirst().map(String.init))
    }
}
