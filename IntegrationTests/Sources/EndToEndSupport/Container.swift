import Foundation

/// A separate folder for a test: a container for a command, a home directory for its user, and other files of the test.
struct Container: Sendable {
    /// The path of the folder.
    let root: String

    /// The value of `ACCOUNT_HOME`.
    var home: String { root + "/container" }

    var archive: String { home + "/Documents/Account.plist" }
    var signOutRecord: String { home + "/Documents/SignOut.plist" }
    var key: String { home + "/Library/Keys/Account.key" }

    /// The key file of a session other than the default one.
    func key(of session: String) -> String { home + "/Library/Keys/Sessions/\(session)/Account.key" }
    func archive(of session: String) -> String { home + "/Documents/Sessions/\(session)/Account.plist" }

    /// The path of another file of the test.
    func path(_ name: String) -> String { root + "/" + name }

    /// An environment without variables of the user who runs the tests.
    var environment: [String: String] {
        ["ACCOUNT_HOME": home, "HOME": root + "/user", "TMPDIR": root + "/temporary"]
    }

    /// Runs a test with a new folder, and removes the folder afterwards.
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

// MARK: - Contents

extension Container {
    /// The state of a file, folder or other entry on disk.
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

    /// All entries in the folder, by path.
    func contents() throws -> [String: Entry] {
        var entries: [String: Entry] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: root)
        where !name.hasSuffix("/Refresh.lock") && !name.hasSuffix("/Refresh.plist") {
            entries[name] = try Entry(root + "/" + name)
        }
        return entries
    }

    /// The contents without folders, since creating a lock file or a temporary file changes a folder's date.
    func files() throws -> [String: Entry] {
        try contents().filter { $0.value.kind != .typeDirectory }
    }

    /// The entry at a path, or `nil` if there is none.
    func entry(_ path: String) throws -> Entry? { try Entry(path) }

    /// Whether an entry exists at a path, including a broken link.
    func exists(_ path: String) -> Bool {
        var status = stat()
        // An entry that cannot be inspected counts as existing.
        return lstat(path, &status) == 0 || (errno != ENOENT && errno != ENOTDIR)
    }

    /// The archives that were moved aside.
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
