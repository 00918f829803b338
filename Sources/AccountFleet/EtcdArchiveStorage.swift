package import AccountKit
import AccountSupport
package import Logging

/// Stores archives in an etcd cluster, which several machines share; the initializer of `AccountStore` describes the locks.
package struct EtcdArchiveStorage: ArchiveStorage {
    /// The cluster and the prefix.
    package let location: EtcdLocation

    /// The prefix of the keys. If an entry is copied to another prefix, AccountKit cannot open the copy.
    package var sharedPlace: String? { location.prefix }

    let client: EtcdClient
    let replica: Replica
    private let folder: String
    private let watch: SessionWatch

    /// Creates the storage of a session, without sending a request.
    ///
    /// - Throws: `misconfigured` if there is a password and neither TLS nor a loopback address.
    package init(
        location: EtcdLocation, credentials: EtcdCredentials = EtcdCredentials(), container: AppContainer,
        session: SessionName = .default, logger: Logger? = nil
    ) throws(AccountError) {
        self.location = location
        client = try EtcdClient(location: location, credentials: credentials, logger: logger)
        folder = "\(location.prefix)/\(container.identifier)/\(session.rawValue)/"
        watch = SessionWatch(client: client, folder: folder)
        replica = Replica(of: location, container: container, session: session, logger: logger)
    }

    /// Reads an entry, confirmed by a quorum. Without a quorum, this method reads the account from the replica on this
    /// machine.
    package func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        do {
            let stored = try await newest(entry)
            await replica.note(entry, stored)
            return stored.map { StoredEntry($0) }
        } catch let error as AccountError where error.code == .storeUnreachable {
            guard let stored = replica.read(entry) else { throw error }
            return stored
        }
    }

    /// Acquires the lock, which all machines share, and begins a transaction.
    package func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        try await beginTransaction(timeout: timeout, refresh: nil)
    }

    func beginTransaction(timeout: Duration, refresh: EtcdLock?) async throws -> any ArchiveTransaction {
        let lock = try await client.mapping {
            try await EtcdLock.take(
                key(EtcdLock.transactionName), seconds: 10, timeout: timeout,
                call: self.timeout(.beginning, of: refresh),
                reading: folder, by: client)
        }
        return EtcdTransaction(storage: self, lock: lock, refresh: refresh)
    }

    /// Returns the time limit for a call. If only this process has the new tokens, the limit is the end of its lease.
    func timeout(_ usual: EtcdClient.Timeout, of refresh: EtcdLock?) -> EtcdClient.Timeout {
        guard let refresh, refresh.isExchanging else { return usual }
        return .saving(until: refresh.lease.end)
    }

    /// The maximum duration of a token request. If the process that sends it does not extend its lease, other processes
    /// wait this long.
    static let longestExchange = Duration.seconds(60)

    /// Acquires the refresh lease. If the holder is killed, other processes wait 15 s. If the holder had recorded its
    /// intent to send the refresh token, they wait 75 s, because the request may take 60 s.
    package func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease {
        let lock = try await client.mapping {
            try await EtcdLock.take(
                key(EtcdLock.refreshName), seconds: 15, timeout: timeout, sharing: watch, by: client)
        }
        return EtcdRefreshLease(storage: self, lock: lock)
    }

    /// Returns a stream that yields when any machine has written or removed an entry since this storage last read the
    /// entry. If this storage has not read the entry yet, the stream yields its first element immediately. All streams
    /// of this storage share one watch.
    package func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> {
        watch.changes(of: key(entry.rawValue))
    }

    // MARK: Calls

    func key(_ name: String) -> String { folder + name }

    func newest(_ entry: ArchiveEntry) async throws -> EtcdKeyValue? { try await newest(key: key(entry.rawValue)) }

    func newest(key: String) async throws -> EtcdKeyValue? {
        let response = try await client.mapping { try await client.send(.range(key), .reading) }
        guard let revision = response.object.revision else {
            throw AccountError(.inaccessible, "\(location) returned an unexpected response")
        }
        let entry = EtcdKeyValue(response.object["kvs"]?.elements.first)
        watch.noteReading(of: key, entry, at: revision)
        return entry
    }

    func send(_ call: EtcdCall, _ timeout: EtcdClient.Timeout) async throws -> EtcdClient.Response {
        try await client.mapping { try await client.send(call, timeout) }
    }
}

extension StoredEntry {
    init(_ stored: EtcdKeyValue) {
        self.init(bytes: stored.value, revision: ArchiveRevision(stored.modRevision))
    }
}

extension ArchiveRevision {
    /// Creates a revision from etcd's `mod_revision`, which is unique in a cluster.
    init(_ modRevision: Int64) {
        self.init(bytes: modRevision.bigEndianBytes)
    }

    /// The `mod_revision`, or `nil` for a revision of another storage.
    var modRevision: Int64? {
        bytes.count == 8 ? Int64(bigEndianBytes: bytes) : nil
    }
}
