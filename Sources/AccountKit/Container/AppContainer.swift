#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The folders of one app, as iOS gives them to an app in its sandbox, on every platform.
///
/// Nothing is made or touched by asking for a folder: folders are made when something is written to them, with mode
/// 0700.
public struct AppContainer: Hashable, Sendable {
    /// Which app it is. Bound into every archive of the container: another app's archive does not open here.
    public let identifier: String

    /// What must survive, such as `Account.plist`; backed up. On Linux `$XDG_DATA_HOME/<identifier>/Documents`.
    public let documents: URL

    /// What can be fetched again, and may vanish at any time. On Linux `$XDG_CACHE_HOME/<identifier>`.
    public let caches: URL

    /// Settings, without secrets. On Linux `$XDG_CONFIG_HOME/<identifier>`.
    public let preferences: URL

    /// The key file: in another tree than `documents`, so that syncing or leaking those does not leak the key. On Linux
    /// `$XDG_STATE_HOME/<identifier>`.
    public let keys: URL

    /// Gone after the run. On Linux `$XDG_RUNTIME_DIR/<identifier>`, else in the temporary directory.
    public let temporary: URL

    /// The folder that must belong to the user, together with all that is below it on the way to a file.
    package let root: String

    /// The folders where the platform has them.
    ///
    /// On Linux as the XDG Base Directory Specification says: unset, empty and relative variables mean its defaults. On
    /// Apple systems in the user's `Library`.
    ///
    /// - Parameter identifier: The app, such as `com.example.gists`: 1…128 of `a-z A-Z 0-9 . _ -`, without a leading dot.
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for another identifier, or if the user has no home
    ///   directory.
    public init(identifier: String) throws(AccountError) {
        try self.init(identifier: identifier, environment: Environment.value, home: Environment.homeDirectory)
    }

    /// All folders under one, in iOS's layout: for tests, for portable installs, or for `$HOME` itself.
    ///
    /// - Parameters:
    ///   - root: An absolute path.
    ///   - identifier: The app; see ``init(identifier:)``.
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for another identifier, or a relative path.
    public init(root: String, identifier: String) throws(AccountError) {
        try Self.check(identifier: identifier)
        guard root.hasPrefix("/") else {
            throw AccountError(.invalidArgument, "\"\(root)\" is not an absolute path: begin it with a slash")
        }
        let root = root.droppingTrailingSlash
        self.identifier = identifier
        self.root = root
        documents = (root + "/Documents").directory
        caches = (root + "/Library/Caches").directory
        preferences = (root + "/Library/Preferences").directory
        keys = (root + "/Library/Keys").directory
        temporary = (root + "/tmp").directory
    }

    package init(
        identifier: String, environment: (String) -> String?, home: String?
    ) throws(AccountError) {
        try Self.check(identifier: identifier)
        func absolutePath(_ variable: String) -> String? {
            environment(variable).flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        func base(_ variable: String, _ fallback: String) throws(AccountError) -> String {
            if let path = absolutePath(variable) { return path + "/" + identifier }
            guard let home else {
                throw AccountError(.invalidArgument, "there is no home directory: set HOME, or \(variable)")
            }
            return home + "/" + fallback + "/" + identifier
        }
        self.identifier = identifier
        #if canImport(Darwin)
        let folders = (
            data: "Library/Application Support", caches: "Library/Caches", settings: "Library/Preferences",
            keys: "Library/Keys"
        )
        #else
        let folders = (data: ".local/share", caches: ".cache", settings: ".config", keys: ".local/state")
        #endif
        root = try base("XDG_DATA_HOME", folders.data)
        documents = (root + "/Documents").directory
        caches = try base("XDG_CACHE_HOME", folders.caches).directory
        preferences = try base("XDG_CONFIG_HOME", folders.settings).directory
        keys = try base("XDG_STATE_HOME", folders.keys).directory
        let runtime = absolutePath("XDG_RUNTIME_DIR").map { $0 + "/" + identifier }
        let shared = absolutePath("TMPDIR") ?? "/tmp"
        temporary = (runtime ?? "\(shared)/\(identifier)-\(SystemCall.effectiveUser)").directory
    }

    private static func check(identifier: String) throws(AccountError) {
        guard identifier.isFileName(upTo: 128) else {
            throw AccountError(
                .invalidArgument,
                "\"\(identifier)\" is not an app identifier: use 1 to 128 letters, digits, dots, underscores or hyphens, "
                    + "and no dot at the start")
        }
    }
}

extension AppContainer {
    package func directory(of session: SessionName) -> String {
        session == .default ? documentsPath : documentsPath + "/Sessions/" + session.rawValue
    }

    /// A folder in the container, which is trusted only together with each folder on the way to it from the root of its tree.
    package func folder(_ path: String) -> ArchiveDirectory {
        let roots =
            [root]
            + [preferences, caches, keys, temporary].map { $0.path(percentEncoded: false).droppingTrailingSlash }
        return ArchiveDirectory(path: path, root: roots.first { path == $0 || path.hasPrefix($0 + "/") } ?? path)
    }

    package var documentsPath: String { documents.path(percentEncoded: false).droppingTrailingSlash }
    package var keysPath: String { keys.path(percentEncoded: false).droppingTrailingSlash }

    /// The sessions of which there is anything: those that were signed in once, in the order of their names, the
    /// default one first.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/inaccessible``, or ``AccountError/Code-swift.struct/insecureContainer`` if
    ///   another user could have changed the list.
    public func sessions() throws(AccountError) -> [SessionName] {
        try folder(documentsPath + "/Sessions").checkTrust()
        return try listedSessions()
    }

    /// The same, also if another user could have changed the list.
    package func listedSessions() throws(AccountError) -> [SessionName] {
        do {
            var sessions: [SessionName] = []
            if try SystemCall.status(directory(of: .default) + "/" + ArchiveEntry.account.rawValue) != nil {
                sessions.append(.default)
            }
            let names = try SystemCall.names(in: documentsPath + "/Sessions").sorted()
            // Anything that cannot be a session's name is something else.
            return sessions + names.compactMap { name in try? SessionName(name) }.filter { $0 != .default }
        } catch {
            throw AccountError(.inaccessible, "the sessions cannot be listed", cause: error)
        }
    }
}

extension String {
    fileprivate var directory: URL { URL(filePath: self, directoryHint: .isDirectory) }

    fileprivate var droppingTrailingSlash: String {
        utf8.count > 1 && utf8.last == UInt8(ascii: "/") ? String(utf8.dropLast())! : self
    }
}
