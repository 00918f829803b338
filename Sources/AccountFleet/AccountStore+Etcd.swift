public import AccountKit
public import Logging

extension AccountStore {
    /// Creates a store for a session in an etcd cluster (3.4 or later, with its JSON gateway), which several machines
    /// share. The initializer sends no requests.
    ///
    /// All machines need the same key: a passphrase, a program that prints the key, a credential, or a key file that an
    /// administrator copies. Etcd, its backups and its administrators see only ciphertext.
    ///
    /// - A quorum confirms each read. Without a quorum, AccountKit reads the account from this machine's replica, and a
    ///   change fails with `AccountError.Code.storeUnreachable`.
    /// - A change holds a lock with an etcd lease of 10 s, and a refresh holds another one with a lease of 15 s, or of
    ///   75 s while the process may have sent the refresh token. After a process is killed, others wait no longer.
    /// - A process that was suspended for longer than its lease cannot change an entry, and receives
    ///   `AccountError.Code.conflict`.
    ///
    /// The keys are `<prefix>/<app identifier>/<session>/<entry>`; in the keys of locks, the entry begins with a dot. The
    /// role of the etcd user needs permission only for keys with this prefix.
    ///
    /// - Parameters:
    ///   - location: The cluster and the prefix.
    ///   - credentials: The credentials for the cluster.
    ///   - container: The container of the app. Its identifier is part of the keys, and its caches folder contains the
    ///     replica.
    ///   - session: The session.
    ///   - keySources: The sources of the archive's keys, at least one. Each key opens the archive.
    ///   - clock: The source of the current date; `nil` for the clock of the machine.
    ///   - lockTimeout: How long to wait while another process changes the archive.
    ///   - logger: The logger, or `nil` for none. AccountKit logs no secrets and no personal data.
    /// - Throws: `AccountError.Code.misconfigured` if there is a password and neither TLS nor a loopback address.
    public convenience init(
        at location: EtcdLocation, credentials: EtcdCredentials = EtcdCredentials(), container: AppContainer,
        session: SessionName = .default, keySources: [KeySource], clock: (any WallClock)? = nil,
        lockTimeout: Duration = .seconds(30), logger: Logger? = nil
    ) throws(AccountError) {
        let storage = try EtcdArchiveStorage(
            location: location, credentials: credentials, container: container, session: session, logger: logger)
        self.init(
            storage: storage, appIdentifier: container.identifier, session: session,
            keys: keySources.map { $0.provider(in: container, session: session) },
            clock: clock, lockTimeout: lockTimeout, logger: logger)
    }
}
