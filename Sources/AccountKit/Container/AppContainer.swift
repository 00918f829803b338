import AccountSupport

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The folders of one app, like those of the app sandbox on iOS.
///
/// Reading a property does not create a folder. AccountKit creates a folder, with mode 0700, when it writes the first
/// file to the folder.
public struct AppContainer: Hashable, Sendable {
    /// The identifier of the app. Every archive of the container is bound to this identifier, so an archive of another
    /// app cannot be opened here.
    package let identifier: String

    /// The folder for data that must be kept and backed up, such as `Account.plist`. On Linux, the path is
    /// `$XDG_DATA_HOME/<identifier>/Documents`.
    public let documents: URL

    /// The folder for data that can be obtained again and may be removed at any time. On Linux, the path is
    /// `$XDG_CACHE_HOME/<identifier>`.
    public let caches: URL

    /// The folder for settings, without secrets. On Linux, the path is `$XDG_CONFIG_HOME/<identifier>`.
    public let preferences: URL

    /// The folder for key files. This folder is outside `documents`, so that a copy of the documents does not contain
    /// the keys. On Linux, the path is `$XDG_STATE_HOME/<identifier>`.
    public let keys: URL

    /// The folder for temporary files. On Linux, the path is `$XDG_RUNTIME_DIR/<identifier>`, or a folder in the
    /// temporary directory.
    public let temporary: URL

    /// The folder that must belong to the user, with all folders below it.
    package let root: String

    /// Creates a container with the standard folders of the platform.
    ///
    /// On Linux the folders follow the XDG Base Directory Specification. If a variable is unset, empty or relative, the
    /// default of the specification applies. On Apple systems the folders are in the user's `Library`.
    ///
    /// - Parameter identifier: The identifier of the app, such as `com.example.gists`. It has 1 to 128 characters of
    ///   `a-z A-Z 0-9 . _ -`, without a leading dot.
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for an invalid identifier, or if the user has no
    ///   home directory.
    public init(identifier: String) throws(AccountError) {
        try Self.checkPaths(in: [
            "HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR",
        ])
        try self.init(identifier: identifier, environment: Environment.value, home: Environment.homeDirectory)
    }

    /// Creates a container with all folders under one root, in the layout of iOS, for tests and portable installations.
    ///
    /// - Parameters:
    ///   - root: An absolute path.
    ///   - identifier: The identifier of the app; see ``init(identifier:)``.
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for an invalid identifier, or a relative path.
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
                throw AccountError(.invalidArgument, "there is no home directory", hint: "set HOME, or \(variable)")
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

    /// Throws an error if one of the variables contains a path that is not UTF-8.
    package static func checkPaths(in variables: [String]) throws(AccountError) {
        guard let name = Environment.firstUnreadable(of: variables) else { return }
        throw AccountError(
            .invalidArgument, "the path in \(name) is not UTF-8, so this program cannot use it",
            hint: "set \(name) to another path")
    }

    private static func check(identifier: String) throws(AccountError) {
        guard identifier.isFileName(upTo: 128) else {
            throw AccountError(
                .invalidArgument,
                "\"\(identifier)\" is not a valid app identifier",
                hint: "use 1 to 128 letters, digits, dots, underscores or hyphens, and no dot at the start")
        }
    }
}

extension AppContainer {
    package func directory(of session: SessionName) -> String {
        session == .default ? documentsPath : documentsPath + "/Sessions/" + session.rawValue
    }

    /// The folder of the registrations at services.
    package var registrationsPath: String { documentsPath + "/Clients" }

    /// The folder of the index of the sessions that have queued revocations.
    package var revocationsPath: String { documentsPath + "/Revocations" }

    package var documentsPath: String { documents.path(percentEncoded: false).droppingTrailingSlash }
    package var cachesPath: String { caches.path(percentEncoded: false).droppingTrailingSlash }
    package var preferencesPath: String { preferences.path(percentEncoded: false).droppingTrailingSlash }
    package var temporaryPath: String { temporary.path(percentEncoded: false).droppingTrailingSlash }
    package var keysPath: String { keys.path(percentEncoded: false).droppingTrailingSlash }
}

extension String {
    fileprivate var directory: URL { URL(filePath: self, directoryHint: .isDirectory) }

    fileprivate var droppingTrailingSlash: String {
        utf8.count > 1 && utf8.last == UInt8(ascii: "/") ? String(utf8.dropLast())! : self
    }
}
