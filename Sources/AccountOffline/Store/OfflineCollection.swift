#if Offline
public import AccountKit
import HTTPTypes
import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One kind of thing that an account has at a service: its lists, readable without the network, and its changes, which are sent
/// when the network is back.
///
/// ```swift
/// let gists = try await OfflineCollection("gists", GistsAPI(), of: store, in: container, sending: transport)
/// let starred = try await gists.refresh("starred")      // from the service if it can be reached, else as it was
/// try await gists.add(Change(.delete, of: id))          // on the disk when this returns
/// let report = try await gists.synchronize()            // sent once, in their order
/// ```
///
/// All of it is sealed with a key of the signed-in user. Signing out destroys that key; a session that the service ended
/// keeps it for the user's next sign-in.
public final class OfflineCollection<Remote: RemoteCollection>: Sendable {
    /// How the service is asked.
    public let remote: Remote

    /// What was stored for the lists could not be used and was dropped: they are fetched again. `nil` if nothing was, as far as has
    /// shown by now.
    public var droppedLists: AccountError? { lists.whyDropped }

    let lists: ListDatabase
    let outbox: OutboxDatabase
    let storage: FileArchiveStorage
    private let cacheStorage: FileArchiveStorage
    let transport: RemoteTransport
    let clock: any WallClock
    private let store: AccountStore
    private let key: OfflineKey
    private let folders: [String]

    /// Opens what is kept for the signed-in user.
    ///
    /// - Parameters:
    ///   - name: The collection's, such as `gists`.
    ///   - remote: How the service is asked.
    ///   - store: Whose account it is.
    ///   - container: The folders of the app: lists go into its caches, changes that were not sent into its documents.
    ///   - maximumListBytes: How much the lists may take when they are closed; those that were not looked at for the longest
    ///     time go first. Until then it may be twice as much: what comes beyond that is not stored.
    ///   - clock: Tells the date.
    ///   - transport: Sends requests with the account's authorization. It obtains the token in the task that calls it: then it
    ///     gets no token of a user who signs in later, but the error `conflict`.
    /// - Throws: `notSignedIn` if nobody is; `damaged` or `unsupportedVersion` if changes that were not sent cannot be read: they
    ///   stay as they are.
    public init(
        _ name: String, _ remote: Remote, of store: AccountStore, in container: AppContainer,
        maximumListBytes: Int = 256 << 20, clock: any WallClock = SystemWallClock(),
        sending transport: @escaping RemoteTransport
    ) async throws(AccountError) {
        self.remote = remote
        self.store = store
        self.clock = clock
        let key = try await store.offlineKey()
        self.key = key
        self.transport = { request, body in
            try await AccountStore.withRequests(for: key) { try await transport(request, body) }
        }
        let folder =
            "/Offline/"
            + key.seal.keyedID(name.utf8, type: "folder").map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let documents = container.path(of: container.documents) + folder
        let caches = container.path(of: container.caches) + folder
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

    /// Removes the lists that are too much, and gives back what the databases need no more. Nothing is lost without it.
    public func close() async {
        // It is tried again at the next end.
        if let entries = try? await outbox.pending() {
            _ = try? await lists.evict(keeping: Set(entries.map { $0.made?.id ?? $0.change.object }))
        }
        await lists.close()
        await outbox.close()
    }

    /// Tells when others have changed lists, or what waits to be sent: another process, or another collection of this one. Several
    /// changes that come close together are one. The first comes at once, for what was changed until then.
    ///
    /// Throws when it cannot be followed any more.
    public func changes() -> AsyncThrowingStream<Void, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Void.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        // The kernel tells of each change of a log, also of one's own; which ones are others', the database knows.
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

    /// Refuses to store what came for somebody who is not signed in any more.
    func checkIsCurrent() async throws(AccountError) {
        guard try await store.isCurrent(key) else {
            throw AccountError(
                .notSignedIn, "the user has signed out, or somebody else has signed in: nothing was stored")
        }
    }

    func errors<Value>(_ body: () async throws -> Value) async throws(AccountError) -> Value {
        do {
            return try await body()
        } catch {
            throw (error as? AccountError)?.offline
                ?? AccountError(.requestFailed, "the response is not one of this service", cause: error)
        }
    }

    /// Removes everything, after the user has signed out.
    func removeFolders() async {
        await BlockingWork.run { [folders] in
            // The key is gone already, and with it all that this holds.
            for folder in folders { try? FileManager.default.removeItem(atPath: folder) }
        }
    }
}

extension AppContainer {
    func path(of folder: URL) -> String {
        let path = folder.path(percentEncoded: false)
        return path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}

extension OfflineCollection: AccountLinkedStorage {
    /// How many changes were not sent.
    public func unsentWork() async throws(AccountError) -> String? {
        let count = try await pendingChanges().count
        return count == 0 ? nil : count == 1 ? "1 change that was not sent" : "\(count) changes that were not sent"
    }

    /// Removes lists, blobs and changes from this machine.
    public func remove() async {
        await close()
        await removeFolders()
    }
}
#endif
