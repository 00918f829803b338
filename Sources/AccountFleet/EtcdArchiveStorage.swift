public import AccountKit
public import Logging

/// Archives in an etcd cluster (3.4 or later, with its JSON gateway), which several machines share.
///
/// What is stored is sealed: etcd, its backups and its administrators see ciphertext. The machines need the same key: a
/// passphrase, a program that prints the key, a credential, or a key file that an administrator copies.
///
/// - A read is confirmed by a quorum. Where none can be had, the account is read from this machine's replica, which is
///   what was read or written last, still sealed; `StoredEntry.asOf` says so. Nothing is ever written from it.
/// - A transaction holds a lock, a key under a lease of 10 s that is kept alive; a refresh holds another of 15 s, and of 75 s once
///   the token may have been sent, since an exchange with a service may take 60 s. Who is killed holds the others up for no
///   longer.
/// - A change is one transaction of etcd's, which compares the entry's revision and those of the locks. Who was stopped for longer
///   than a lease changes nothing any more, and is told so with `AccountError.Code.conflict`.
/// - Where no quorum can be had, changing fails with `AccountError.Code.storeUnreachable`.
///
/// The keys are `<prefix>/<app identifier>/<session>/<entry>`, and those of locks begin with a dot there; the user's role needs permission to read and write those below the
/// prefix, and no other.
public struct EtcdArchiveStorage: ArchiveStorage {
    /// The cluster and the prefix.
    public let location: EtcdLocation

    /// The prefix: an entry that is copied to another one does not open there.
    public var sharedPlace: String? { location.prefix }

    let client: EtcdClient
    let replica: Replica
    private let folder: String
    private let watch: SessionWatch

    /// The storage of a session of an app. Nothing is sent yet.
    ///
    /// - Parameters:
    ///   - location: The cluster and the prefix.
    ///   - credentials: How client and cluster know each other.
    ///   - container: The app, whose identifier is a part of the keys and whose caches have the replica.
    ///   - session: One of several sign-ins.
    ///   - logger: Where to log, if at all. Nothing secret and nothing personal is logged.
    /// - Throws: `AccountError.Code.misconfigured` if there is a password and neither TLS nor a loopback address.
    public init(
        location: EtcdLocation, credentials: EtcdCredentials = EtcdCredentials(), container: AppContainer,
        session: SessionName = .default, logger: Logger? = nil
    ) throws(AccountError) {
        self.location = location
        client = try EtcdClient(location: location, credentials: credentials, logger: logger)
        folder = "\(location.prefix)/\(container.identifier)/\(session.rawValue)/"
        watch = SessionWatch(client: client, folder: folder)
        replica = Replica(of: location, container: container, session: session, logger: logger)
    }

    /// The sessions of an app of which there is anything in a cluster, in the order of their names, the default one first.
    ///
    /// - Parameters:
    ///   - location: The cluster and the prefix.
    ///   - credentials: How client and cluster know each other.
    ///   - container: The app.
    ///   - logger: Where to log, if at all.
    /// - Throws: `AccountError.Code.storeUnreachable` where no quorum can be had, and others as for reading an entry.
    public static func sessions(
        at location: EtcdLocation, credentials: EtcdCredentials = EtcdCredentials(), in container: AppContainer,
        logger: Logger? = nil
    ) async throws -> [SessionName] {
        let storage = try EtcdArchiveStorage(
            location: location, credentials: credentials, container: container, logger: logger)
        let app = "\(location.prefix)/\(container.identifier)/"
        let response = try await storage.client.mapping { try await storage.client.send(.keys(below: app), .reading) }
        let keys = (response.object["kvs"]?.elements ?? []).compactMap { $0.member("key")?.string?.base64Decoded }
        let entries = [ArchiveEntry.account, .signOut].map(\.rawValue)
        let names = keys.compactMap { key -> SessionName? in
            let parts = key.dropFirst(app.count).split(separator: "/")
            guard parts.count == 2, entries.contains(String(parts[1])) else { return nil }
            // What cannot be a session's name is something else.
            return try? SessionName(String(parts[0]))
        }
        let others = Set(names).subtracting([.default]).sorted { $0.rawValue < $1.rawValue }
        return (names.contains(.default) ? [.default] : []) + others
    }

    /// Reads an entry, confirmed by a quorum; the account from this machine's replica where there is none.
    public func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        do {
            let stored = try await newest(entry)
            await replica.note(entry, stored)
            return stored.map { StoredEntry($0) }
        } catch let error as AccountError where error.code == .storeUnreachable {
            guard let stored = replica.read(entry) else { throw error }
            return stored
        }
    }

    /// Waits for the lock, which is known all over the cluster.
    public func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
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

    /// How long a call may take: for tokens that nobody else knows, as long as others wait for who has sent a refresh token.
    func timeout(_ usual: EtcdClient.Timeout, of refresh: EtcdLock?) -> EtcdClient.Timeout {
        guard let refresh, refresh.isExchanging else { return usual }
        return .saving(until: refresh.lease.end)
    }

    /// How long an exchange may take: others wait for its end if its holder is not heard of.
    static let longestExchange = Duration.seconds(60)

    /// Waits for the lease. Who dies with it holds the others up for 15 s; from when the intent to send the refresh token is
    /// written, for 75 s: the exchange may take 60 s.
    public func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease {
        let lock = try await client.mapping {
            try await EtcdLock.take(
                key(EtcdLock.refreshName), seconds: 15, timeout: timeout, sharing: watch, by: client)
        }
        return EtcdRefreshLease(storage: self, lock: lock)
    }

    /// Tells when an entry was written or removed, on whatever machine, since it was last read here; if it was not, once when it
    /// begins. All who listen to this storage share one watch.
    public func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> {
        watch.changes(of: key(entry.rawValue))
    }

    func longerLease(of refresh: EtcdLock) async throws -> EtcdLease? {
        try await client.mapping {
            try await refresh.longerLease(seconds: Self.longestExchange.components.seconds + 15)
        }
    }

    // MARK: Calls

    func key(_ name: String) -> String { folder + name }

    func newest(_ entry: ArchiveEntry) async throws -> EtcdKeyValue? { try await newest(key: key(entry.rawValue)) }

    func newest(key: String) async throws -> EtcdKeyValue? {
        let response = try await client.mapping { try await client.send(.range(key), .reading) }
        guard let revision = response.object.revision else {
            throw AccountError(.inaccessible, "\(location) gave an unexpected response")
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
    /// Etcd's `mod_revision`, which no two changes of a cluster share.
    init(_ modRevision: Int64) {
        self.init(bytes: modRevision.bigEndianBytes)
    }

    /// `nil` if it is of another storage.
    var modRevision: Int64? {
        bytes.count == 8 ? Int64(bigEndianBytes: bytes) : nil
    }
}
