#if Offline
import AccountKit
import AccountSupport
import GRDB
import Synchronization

struct OfflineDatabase: Sendable {
    private struct Connection: Sendable {
        let queue: DatabaseQueue
        /// Whether the database cannot be changed, since the disk is read-only or full.
        var isReadOnly = false
    }

    private final class Current: Sendable {
        let connection: Mutex<Connection>
        init(_ connection: Connection) { self.connection = Mutex(connection) }
    }

    let path: String
    private let current: Current
    private let openForWriting: @Sendable () async throws -> Connection
    var queue: DatabaseQueue { current.connection.withLock(\.queue) }
    var isReadOnly: Bool { current.connection.withLock(\.isReadOnly) }
    var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    private static let busyTimeout: TimeInterval = 30

    /// Opens a database, or creates a database that only its owner can read.
    ///
    /// On a read-only or full disk, this opens an existing database for reading, and each write tries again to open it
    /// for writing. Without an existing one, it returns an empty database in memory, which accepts changes only if they
    /// need not be durable.
    ///
    /// - Parameters:
    ///   - storage: The storage that locks the folder, and creates it if necessary.
    ///   - isDurable: Whether a commit waits for the disk. If not, a power cut may lose a commit in WAL mode.
    ///   - schema: The statements that create the schema.
    /// - Throws: `unsupportedVersion` for another version, `damaged` if the file is not a database. The file stays
    ///   unchanged.
    static func open(
        _ name: String, in folder: String, _ storage: FileArchiveStorage, isDurable: Bool, version: Int, schema: String,
        maximumBytes: Int? = nil
    ) async throws -> OfflineDatabase {
        let path = folder + "/" + name
        var configuration = Configuration()
        configuration.busyMode = .timeout(busyTimeout)
        configuration.label = "AccountOffline." + name
        configuration.prepareDatabase { database in
            try database.execute(
                sql: """
                    PRAGMA synchronous = \(isDurable ? "FULL" : "NORMAL"); PRAGMA journal_size_limit = 1048576;
                    """)
            if !isDurable {
                // IDs are in random order. With its default cache of 2 MB and a checkpoint every 4 MB, SQLite would
                // read a page of the index for each row of a long list, and write each page again every few rows.
                try database.execute(
                    sql:
                        "PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 33554432;"
                )
            }
            if let maximumBytes {
                let pageSize = try Int.fetchOne(database, sql: "PRAGMA page_size") ?? 4096
                try database.execute(sql: "PRAGMA max_page_count = \(max(maximumBytes / pageSize, 16))")
            }
        }
        let settings = configuration
        let openForWriting: @Sendable () async throws -> Connection = {
            try await Self.openForWriting(path, storage, settings, version: version, schema: schema)
        }
        func database(_ connection: Connection) -> OfflineDatabase {
            OfflineDatabase(path: path, current: Current(connection), openForWriting: openForWriting)
        }
        do {
            return database(try await openForWriting())
        } catch let error as AccountError where error.code == .inaccessible {
            let opened = try? await BlockingWork.run {
                try openForReading(path, settings, isDurable: isDurable, version: version, schema: schema)
            }
            guard let opened else { throw error }
            return database(opened)
        }
    }

    private static func openForWriting(
        _ path: String, _ storage: FileArchiveStorage, _ settings: Configuration, version: Int, schema: String
    ) async throws -> Connection {
        // Use a lock: with timeouts alone, two processes that create a database at the same time would interfere with
        // each other.
        try await storage.withTransaction(timeout: .seconds(30)) { _ in
            do {
                let queue = try await BlockingWork.run {
                    // SQLite creates the files next to this file with the same mode. Don't open an existing file here:
                    // closing it would release SQLite's own locks.
                    if !FileManager.default.fileExists(atPath: path) {
                        guard
                            FileManager.default.createFile(
                                atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
                        else { throw AccountError(.inaccessible, "\(path) cannot be created: is the disk full?") }
                    }
                    let queue = try DatabaseQueue(path: path, configuration: settings)
                    try queue.writeWithoutTransaction { database in
                        let stored = try storedVersion(database, path, expecting: version)
                        // Check the version first, because this statement changes the file. Don't use the
                        // configuration's `journalMode`, which would set `synchronous` to NORMAL after
                        // `prepareDatabase`.
                        try database.execute(sql: "PRAGMA journal_mode = WAL")
                        if stored == 0 { try make(schema, version, in: database) }
                    }
                    return queue
                }
                return Connection(queue: queue)
            } catch {
                throw AccountError(database: path, error)
            }
        }
    }

    /// Opens a database that cannot be opened for writing. Returns `nil` if it cannot be opened for reading either.
    private static func openForReading(
        _ path: String, _ settings: Configuration, isDurable: Bool, version: Int, schema: String
    ) throws -> Connection? {
        func opened(_ address: String) -> Connection? {
            var settings = settings
            settings.readonly = true
            guard let queue = try? DatabaseQueue(path: address, configuration: settings),
                let stored = try? queue.unsafeRead({ try storedVersion($0, path, expecting: version) }), stored > 0
            else { return nil }
            return Connection(queue: queue, isReadOnly: true)
        }
        func size(of path: String) throws -> Int? {
            do {
                let size = try FileManager.default.attributesOfItem(atPath: path)[.size]
                // FoundationEssentials and Foundation return different types.
                return size as? Int ?? (size as? UInt).map { Int($0) }
            } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
                return 0
            }
        }
        // If a size is unknown, the file may contain unsent changes.
        guard let logSize = try size(of: path + "-wal"), let fileSize = try size(of: path) else { return nil }
        let hasLog = logSize > 0
        guard hasLog || fileSize > 0 else {
            let queue = try DatabaseQueue(configuration: settings)
            try queue.writeWithoutTransaction { try make(schema, version, in: $0) }
            return Connection(queue: queue, isReadOnly: isDurable)
        }
        if let connection = opened(path) { return connection }
        // Processes share the log through a third file, which SQLite cannot create now. It reads an immutable database
        // without that file, but then ignores the log.
        return hasLog ? nil : opened("file:\(path.percentEncoded(keeping: "/-._~"))?immutable=1")
    }

    /// Returns the version of the schema, or 0 if the database is empty.
    private static func storedVersion(_ database: Database, _ path: String, expecting version: Int) throws -> Int {
        let stored = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        guard stored == 0 || stored == version else {
            throw stored > version
                ? AccountError(
                    .unsupportedVersion, "\(path) was written by a later version of this program",
                    hint: "update this program")
                : AccountError(
                    .unsupportedVersion, "\(path) was written by an earlier version of this program",
                    hint: "send its changes with the version that wrote them, or move the file away to continue "
                        + "without them")
        }
        return stored
    }

    private func writableQueue() async throws -> DatabaseQueue {
        guard isReadOnly else { return queue }
        let opened: Connection
        do {
            opened = try await openForWriting()
        } catch let error as AccountError where error.code == .inaccessible {
            throw AccountError(.inaccessible, "\(path) cannot be changed: the disk is read-only or full", cause: error)
        }
        return current.connection.withLock { connection in
            if connection.isReadOnly { connection = opened }
            return connection.queue
        }
    }

    private func errors<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw AccountError(database: path, error)
        }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await errors { try await queue.read(body) }
    }

    /// Reads with a single statement, which needs no transaction.
    func readOnce<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await errors { try await queue.unsafeRead(body) }
    }

    /// Writes to the database, even if the task is cancelled, so that the task can still record what it has sent.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await shielded { try await errors { try await writableQueue().write(body) } }
    }

    private static func make(_ schema: String, _ version: Int, in database: Database) throws {
        try database.inTransaction {
            try database.execute(sql: schema + "PRAGMA user_version = \(version);")
            return .commit
        }
    }

    /// Returns a number that changes when another connection changes the database.
    func version() async throws -> Int {
        try await readOnce { try Int.fetchOne($0, sql: "PRAGMA data_version") ?? 0 }
    }

    /// Empties a damaged database. Other processes that have the database open also see the empty database.
    func makeAnew(_ schema: String, _ version: Int) async throws {
        try await errors {
            let queue = try await writableQueue()
            try await queue.erase()
            try await queue.writeWithoutTransaction { try Self.make(schema, version, in: $0) }
        }
    }

    func compact() async throws { try await errors { try await queue.vacuum() } }

    /// Moves the log into the database. This method does not close the connection, because a task that still reads
    /// would crash. The connection closes with its last reference.
    func settle() async {
        guard !isReadOnly else { return }
        // Ignore an error: another process that has the database open moves the log later. If this connection only read
        // data, the log is unchanged.
        _ = try? await queue.writeWithoutTransaction { database in
            if database.totalChangesCount > 0 { _ = try database.checkpoint(.truncate) }
        }
    }

    /// Removes the files of a database that no process has open.
    static func remove(_ name: String, in folder: String) async {
        await BlockingWork.run {
            for suffix in ["", "-wal", "-shm"] {
                // A missing file is not an error.
                try? FileManager.default.removeItem(atPath: "\(folder)/\(name)\(suffix)")
            }
        }
    }
}
#endif
