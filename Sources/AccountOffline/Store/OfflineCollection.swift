#if Offline
public import AccountKit
import HTTPTypes
import AccountCrypto
import AccountSupport

/// The items of one kind that a user has at a service, with lists that are readable offline and changes that are sent
/// when the service is reachable.
///
/// ```swift
/// let gists = try await OfflineCollection("gists", GistsAPI(), of: store, in: container, sending: transport)
/// let starred = try await gists.refresh("starred")      // from the service, or the stored list while it is unreachable
/// try await gists.add(Change(.delete, of: id))          // durable when this returns
/// let report = try await gists.synchronize()            // sends each change once, in order
/// ```
///
/// The data is encrypted with a key of the signed-in user. A sign-out destroys the key. If the service ends the
/// session, the key stays for the user's next sign-in.
public final class OfflineCollection<Remote: RemoteCollection>: Sendable {
    let remote: Remote

    /// The reason why AccountKit dropped unusable stored lists, which must be requested again. `nil` if AccountKit has
    /// dropped no lists.
    public var droppedLists: AccountError? {
        var error = lists.whyDropped
        // The hint is about data that the app cannot request again.
        error?.hint = nil
        return error
    }

    let lists: ListDatabase
    let outbox: OutboxDatabase
    let storage: FileArchiveStorage
    private let cacheStorage: FileArchiveStorage
    let transport: RemoteTransport
    let clock: any WallClock

    /// Waits for a duration. A test advances its clock instead.
    let wait: @Sendable (Duration) async throws -> Void

    private let store: AccountStore
    private let key: OfflineKey
    private let folders: [String]

    /// Opens the data of the signed-in user.
    ///
    /// - Parameters:
    ///   - name: The name of the collection, such as `gists`.
    ///   - remote: The adapter for the service.
    ///   - store: The store of the account.
    ///   - container: The folders of the app. AccountKit stores lists in its caches folder, and unsent changes in its
    ///     documents folder.
    ///   - maximumListBytes: The maximum size of the lists in bytes when the collection is closed. AccountKit removes
    ///     the least recently used lists first. Before that, the lists may be twice as large. AccountKit stores no data
    ///     beyond that size.
    ///   - clock: The source of the current date, or `nil` for the clock of the machine.
    ///   - transport: The function that sends requests with the authorization of the account. It must obtain the token
    ///     in the task that calls it, so that it receives the error `conflict` instead of the token of a user who signs
    ///     in later.
    /// - Throws: `notSignedIn` if no user is signed in; `damaged` or `unsupportedVersion` if unsent changes cannot be
    ///   read. The unsent changes stay on the disk.
    public convenience init(
        _ name: String, _ remote: Remote, of store: AccountStore, in container: AppContainer,
        maximumListBytes: Int = 256 << 20, clock: (any WallClock)? = nil,
        sending transport: @escaping RemoteTransport
    ) async throws(AccountError) {
        try await self.init(
            name, remote, of: store, in: container, maximumListBytes: maximumListBytes,
            clock: clock ?? SystemWallClock(), waiting: { try await Task.sleep(for: $0) }, sending: transport)
    }

    init(
        _ name: String, _ remote: Remote, of store: AccountStore, in container: AppContainer, maximumListBytes: Int,
        clock: any WallClock, waiting wait: @escaping @Sendable (Duration) async throws -> Void,
        sending transport: @escaping RemoteTransport
    ) async throws(AccountError) {
        self.remote = remote
        self.store = store
        (self.clock, self.wait) = (clock, wait)
        let key = try await store.offlineKey()
        self.key = key
        self.transport = { request, body in
            try await AccountStore.withRequests(for: key) { try await transport(request, body) }
        }
        let folder = "/Offline/" + key.seal.keyedID(name.utf8, type: "folder").hexadecimal
        let documents = container.documentsPath + folder
        let caches = container.cachesPath + folder
        folders = [documents, caches]
        storage = FileArchiveStorage(folder: documents, in: container)
        cacheStorage = FileArchiveStorage(folder: caches, in: container)
        do {
            outbox = try await OutboxDatabase.open(in: documents, storage, key.seal)
            lists = try await ListDatabase.open(
                in: caches, cacheStorage, key.seal, maximumBytes: maximumListBytes)
        } catch {
            throw AccountError(database: folder, error)
        }
    }

    /// Removes lists beyond the limit, and releases unused space of the databases. If an app does not call this method,
    /// it loses no data.
    public func close() async {
        // After an error, the next call tries again.
        if let entries = try? await outbox.pending() {
            _ = try? await lists.evict(keeping: Set(entries.map { $0.made?.id ?? $0.change.object }))
        }
        await lists.database.settle()
        await outbox.database.settle()
    }

    /// Returns a stream that yields when another process or another collection has changed lists or unsent changes.
    ///
    /// The stream may yield one element for several changes in quick succession. It yields the first element
    /// immediately, to cover changes made before the stream was created. It throws an error when AccountKit can no
    /// longer observe changes.
    public func changes() -> AsyncThrowingStream<Void, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Void.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        // The kernel reports each change of a log, including changes by this collection. The version of the database
        // changes only if another connection changes the database.
        let logs = [
            (lists.database, cacheStorage.changes(of: ArchiveEntry(rawValue: ListDatabase.name + "-wal"))),
            (outbox.database, storage.changes(of: ArchiveEntry(rawValue: OutboxDatabase.name + "-wal"))),
        ]
        let task = Task {
            do {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (database, log) in logs {
                        group.addTask {
                            var version = try await database.version()
                            continuation.yield()
                            for try await _ in log {
                                let now = try await database.version()
                                if now != version { continuation.yield() }
                                version = now
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    func checkIsCurrent() async throws(AccountError) { try await store.requireCurrent(key) }

    func errors<Value>(_ body: () async throws -> Value) async throws(AccountError) -> Value {
        do {
            return try await body()
        } catch is CancellationError {
            throw AccountError(.cancelled, "cancelled: unsent changes are kept")
        } catch {
            throw (error as? AccountError)?.offline
                ?? AccountError(.requestRefused, "the response is not from this service", cause: error)
        }
    }
}

extension OfflineCollection: AccountLinkedStorage {
    /// Returns a description of the unsent changes, or `nil` if there are none.
    public func unsentWork() async throws(AccountError) -> String? {
        let count = try await pendingChanges().count
        return count == 0 ? nil : count == 1 ? "1 unsent change" : "\(count) unsent changes"
    }

    /// Removes lists and changes from this machine.
    public func remove() async {
        await close()
        await BlockingWork.run { [folders] in
            // Ignore errors: the key is already destroyed, so the data is unreadable.
            for folder in folders { try? FileManager.default.removeItem(atPath: folder) }
        }
    }
}
#endif
