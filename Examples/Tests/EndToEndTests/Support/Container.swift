import Foundation

/// A folder of a test's own: a container for a command, a home directory for its user, and room for files beside them.
struct Container: Sendable {
    /// The folder.
    let root: String

    /// What a command gets as `ACCOUNT_HOME`.
    var home: String { root + "/container" }

    var archive: String { home + "/Documents/Account.plist" }
    var signOutRecord: String { home + "/Documents/SignOut.plist" }
    var key: String { home + "/Library/Keys/Account.key" }

    /// The archive of another session than the default one.
    func key(of session: String) -> String { home + "/Library/Keys/Sessions/\(session)/Account.key" }
    func archive(of session: String) -> String { home + "/Documents/Sessions/\(session)/Account.plist" }

    /// A place for another file of the test.
    func path(_ name: String) -> String { root + "/" + name }

    /// An environment in which a command can find nothing of the tester's.
    var environment: [String: String] {
        ["ACCOUNT_HOME": home, "HOME": root + "/user", "TMPDIR": root + "/temporary"]
    }

    /// Runs a test with a fresh folder, which is removed afterwards.
    static func run<Result: Sendable>(_ test: (Container) async throws -> Result) async throws -> Result {
        let container = Container(
            root: FileManager.default.temporaryDirectory.path + "/account-\(UUID().uuidString.prefix(13))")
        for folder in ["", "/user", "/temporary"] {
            try FileManager.default.createDirectory(
                atPath: container.root + folder, withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
        }
        let result: Result
        do {
            result = try await test(container)
        } catch {
            try FileManager.default.removeItem(atPath: container.root)
            throw error
        }
        try FileManager.default.removeItem(atPath: container.root)
        return result
    }
}

// MARK: - What is in it

extension Container {
    /// A file, folder or something else, as it is on the disk.
    struct Entry: Equatable, CustomStringConvertible {
        let kind: FileAttributeType
        let permissions: Int
        let modified: Date
        let bytes: [UInt8]

        var description: String { "\(kind.rawValue) \(String(permissions, radix: 8)) \(bytes.count) bytes" }

        init?(_ path: String) throws {
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
            kind = attributes[.type] as? FileAttributeType ?? .typeUnknown
            permissions = attributes[.posixPermissions] as? Int ?? 0
            modified = attributes[.modificationDate] as? Date ?? .distantPast
            switch kind {
            case .typeRegular: bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
            case .typeSymbolicLink:
                bytes = Array(try FileManager.default.destinationOfSymbolicLink(atPath: path).utf8)
            default: bytes = []
            }
        }
    }

    /// Everything in the folder, by its path.
    func contents() throws -> [String: Entry] {
        var entries: [String: Entry] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: root)
        where !name.hasSuffix("/Refresh.lock") && !name.hasSuffix("/Refresh.plist") {
            entries[name] = try Entry(root + "/" + name)
        }
        return entries
    }

    /// The same without folders, in which a lock file that is made and a file that comes and goes leave a trace.
    func files() throws -> [String: Entry] {
        try contents().filter { $0.value.kind != .typeDirectory }
    }

    /// What is at a path; `nil` if nothing is.
    func entry(_ path: String) throws -> Entry? { try Entry(path) }

    /// Whether there is anything at a path, if only a link that leads nowhere.
    func exists(_ path: String) -> Bool {
        var status = stat()
        // What cannot be looked at counts as being there.
        return lstat(path, &status) == 0 || (errno != ENOENT && errno != ENOTDIR)
    }

    /// The archives that were moved out of the way.
    func quarantine() throws -> [String] {
        let folder = home + "/Documents"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        return names.filter { $0.hasPrefix("Account.plist.unreadable-") }.map { folder + "/" + $0 }
    }

    func write(_ bytes: some Sequence<UInt8>, to path: String, permissions: Int = 0o600) throws {
        try Data(bytes).write(to: URL(filePath: path))
        try setPermissions(permissions, of: path)
    }

    func setPermissions(_ permissions: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
    }
}
