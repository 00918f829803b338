public import Logging
import AccountCrypto
import AccountSupport
import Synchronization

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// Stores the account of one session: encrypted in an archive, shared in memory, and checked at start-up.
///
/// ```swift
/// let store = AccountStore(container: try AppContainer(identifier: "com.example.gists"))
/// switch await store.checkSession(with: authority) { … }
/// ```
///
/// Any number of tasks can use a store, and any number of processes a container. Only the user, or an explicit
/// rejection by the service, ends a session. An unreachable network, a full disk or an unreadable file never does.
public final class AccountStore: Sendable {
    /// The name of the session.
    public let session: SessionName

    let driver: SessionDriver
    let replacementHandler = Mutex<ReplacementHandler?>(nil)
    var clock: any WallClock { driver.clock }

    /// The place of the shared store: the process, or in parallel tests a task and its children.
    package final class Sharing: Sendable {
        fileprivate let store: Mutex<AccountStore?>

        package init(_ store: AccountStore? = nil) { self.store = Mutex(store) }
    }

    @TaskLocal package static var sharing = Sharing()

    /// The store that the app made shared with ``makeShared()``; `nil` until then.
    public static var shared: AccountStore? { sharing.store.withLock { $0 } }

    /// Creates a store for a session of a container. Nothing is read yet.
    ///
    /// - Parameters:
    ///   - container: The folders of the app.
    ///   - session: The name of the session.
    ///   - keySources: The sources of the archive's keys. Each key opens the archive. The default is a key file, which
    ///     the first sign-in creates.
    ///   - clock: The source of the current date; `nil` for the clock of the machine.
    ///   - lockTimeout: How long to wait while another process changes the archive.
    ///   - logger: The logger; `nil` for none. AccountKit logs no secrets and no personal data.
    public convenience init(
        container: AppContainer, session: SessionName = .default, keySources: [any KeySource]? = nil,
        clock: (any WallClock)? = nil, lockTimeout: Duration = .seconds(30), logger: Logger? = nil
    ) {
        self.init(
            storage: FileArchiveStorage(container: container, session: session), appIdentifier: container.identifier,
            session: session, keySources: keySources ?? [KeyFile(container: container, session: session)], clock: clock,
            lockTimeout: lockTimeout, logger: logger)
    }

    /// Creates a store for a session in another storage.
    ///
    /// - Parameters:
    ///   - storage: The storage of the archive. It must belong to this session only.
    ///   - appIdentifier: The app identifier. The archive is bound to it and to the session.
    ///   - session: The name of the session.
    ///   - keySources: The sources of the archive's keys, at least one. Each key opens the archive.
    ///   - clock: The source of the current date; `nil` for the clock of the machine.
    ///   - lockTimeout: How long to wait while another process changes the archive.
    ///   - logger: The logger; `nil` for none.
    public init(
        storage: any ArchiveStorage, appIdentifier: String, session: SessionName = .default,
        keySources: [any KeySource], clock: (any WallClock)? = nil, lockTimeout: Duration = .seconds(30),
        logger: Logger? = nil
    ) {
        self.session = session
        let archive = AccountArchive(
            storage: storage, keySources: keySources,
            context: SealingContext(
                appIdentifier: appIdentifier, sessionName: session.rawValue, place: storage.sharedPlace),
            logger: logger)
        let revocations = RevocationQueue(
            archive: archive, appIdentifier: appIdentifier, session: session)
        driver = SessionDriver(
            archive: archive, revocations: revocations,
            offlineKeys: OfflineKeys(archive: archive, appIdentifier: appIdentifier, session: session),
            shared: SharedAccount(),
            refreshes: SingleFlight(by: SessionDriver.Request.isSame),
            exchanges: Exchanges(), clock: clock ?? SystemWallClock(), lockTimeout: lockTimeout, logger: logger)
    }

    private init(session: SessionName, driver: SessionDriver) {
        self.session = session
        self.driver = driver
    }

    /// Returns this store with permission to replace an archive that other machines may be able to open.
    ///
    /// If machines share the storage (``ArchiveStorage/sharedPlace``), a store does not change an archive that does not
    /// open here: signing in and signing out fail with the reason. With the returned store they move the archive aside
    /// instead, as they do on storage of one machine. Ask the user first, because all machines that share the storage
    /// are affected:
    ///
    /// - After a sign-in, these machines need the keys of this store.
    /// - After a sign-out, these machines are signed out.
    /// - The tokens in the archive stay valid at the service, since they cannot be read here.
    ///
    /// Both stores share the account, the events and the lock.
    package func replacingUnreadableArchive() -> AccountStore {
        var driver = driver
        driver.replacesUnreadable = true
        return AccountStore(session: session, driver: driver)
    }

    package var isShared: Bool { driver.archive.isShared }

    /// Neither the archive nor the incomplete move needs to open.
    package func hasSharedArchive() async throws -> Bool {
        guard isShared else { return false }
        for entry in [ArchiveEntry.account, .incoming] where try await driver.archive.storage.read(entry) != nil {
            return true
        }
        return false
    }

    /// Makes ``shared`` return this store.
    public func makeShared() {
        Self.sharing.store.withLock { $0 = self }
    }

    // MARK: The shared account

    /// The account in memory; `nil` if no user is signed in, or if nothing has been read yet. Reading it does no I/O.
    public var account: Account? { driver.shared.account }

    /// The name of the archive that the last sign-in of this store moved aside because it did not open; `nil` if none.
    package var quarantinedArchive: String? { driver.shared.quarantinedArchive }

    /// Returns the changes of the account from now on, in order and without tokens.
    ///
    /// Each sequence buffers the newest 64 events. ``AccountEvent/missed(_:)`` replaces older ones, so a slow reader
    /// delays nothing.
    public func events() -> some AsyncSequence<AccountEvent, Never> & Sendable {
        driver.shared.events()
    }

    /// Returns all events, each with the account of that moment, for tests that compare tokens.
    package func accountEvents() -> AsyncStream<(event: AccountEvent, account: Account?)> {
        driver.shared.accountEvents()
    }

    /// Updates the shared account and the events when other processes change the session, until the task is cancelled.
    ///
    /// On Linux the kernel reports each change, so nothing is polled. A long-running tool calls this in a task. If the
    /// archive cannot be read for a while, the function continues with the next change.
    ///
    /// - Throws: An ``AccountError`` if the storage no longer reports changes. The shared account keeps its value. Call
    ///   the function again, or ``load()`` from time to time.
    public func observeExternalChanges() async throws(AccountError) {
        let changes = driver.archive.storage.changes(of: .account)
        // The account may have changed before the watch began.
        _ = await load()
        do {
            for try await _ in changes { _ = await load() }
        } catch let error as AccountError {
            throw error
        } catch is CancellationError where Task.isCancelled {
            return
        } catch {
            throw AccountError(.inaccessible, "the storage no longer reports changes", cause: error)
        }
        guard Task.isCancelled else {
            throw AccountError(
                .inaccessible, "the storage no longer reports changes: call observeExternalChanges() again")
        }
    }

    // MARK: Reading

    /// Reads the archive, without network access and usually without a lock or a write. May ask for a passphrase.
    ///
    /// If this process has tokens that it could not save before, it saves them now if possible. If another process has
    /// ended their session, it queues them for ``deliverRevocations(with:)``, since no other process knows them.
    ///
    /// - Returns: `.unverified` with the reason `notChecked`, or `wrongAccount` if the service said so before;
    ///   `.signedOut` or `.unreadable`.
    public func load() async -> SessionState {
        if let givenToken { return load(givenToken) }
        return switch await driver.load() {
        case .present(let account, _):
            .unverified(account, account.credentials.isWithheld ? .withheld : .init(.notChecked))
        case .absent(let signOut): .signedOut(signOut)
        case .unreadable(let error): .unreadable(error)
        }
    }

    /// Checks at start-up whether the session is still valid: reads the archive, and asks the service.
    ///
    /// If the access token looks expired, AccountKit refreshes it first. If the service rejects the token, AccountKit
    /// refreshes it once. The profile in the response is stored.
    ///
    /// - Parameters:
    ///   - authority: The service.
    ///   - maximumAge: Skip the check if the service confirmed the account within this time.
    ///   - timeout: How long to wait; `nil` for no limit. A refresh that has been sent continues afterwards, and its
    ///     tokens are stored; see ``finishPendingRequests()``.
    /// - Returns: The state of the session. If the service is unreachable or fails, if its response is unclear, or
    ///   after the timeout, it is `.unverified`, and the account is kept.
    public func checkSession(
        with authority: any AccountAuthority, maximumAge: Duration = .zero, timeout: Duration? = .seconds(10)
    ) async -> SessionState {
        if let givenToken { return await check(givenToken, with: authority, maximumAge: maximumAge, timeout) }
        let flow = CheckFlow(now: clock.now, maximumAge: maximumAge.seconds) { authority.mismatch(with: $0) }
        let effects = LiveSessionEffects(driver, authority: authority, deadline: timeout.map { .now + $0 })
        let state = await flow.run(effects)
        driver.logger?.debug("session checked", metadata: ["state": "\(state.logText.shown)"])
        if case .unverified(let account, let reason) = state, reason.code == .wrongAccount {
            await driver.withhold(account)
        }
        return state
    }

    /// Returns when a refresh began whose response was never stored; `nil` if there is none. The stored refresh token
    /// may then be spent, and the next refresh may end the session.
    package func unfinishedRefresh() async throws -> Date? {
        let record: RefreshRecord?
        do {
            record = try await driver.archive.journal.record()
        } catch let error as AccountError where error.code == .storeUnreachable {
            // Then no refresh is possible, but a replica of the account may be known.
            return nil
        }
        guard let date = record?.date else { return nil }
        // If another process holds the lease, its refresh is still running.
        do {
            try await driver.archive.storage.withRefreshLease(timeout: .zero) { _ in }
        } catch {
            return nil
        }
        return try await driver.archive.journal.record()?.date == nil ? nil : date
    }

    package func inspectStorage() async -> [StorageObservation] {
        await (driver.archive.storage as? any InspectableArchiveStorage)?.inspect() ?? []
    }

    /// Returns the date of the account's replica; `nil` if the storage is reachable or there is no replica.
    package func replicaDate() async -> Date? { (try? await driver.archive.storage.read(.account))?.asOf }

    // MARK: Changing

    /// Changes the stored account, including changes that other processes have made.
    ///
    /// - Parameter change: Changes a copy of the stored account. If it throws, nothing is stored.
    /// - Returns: The stored account.
    /// - Throws: ``AccountError/Code-swift.struct/notSignedIn`` if no user is signed in, or the error of `change`.
    @discardableResult
    public func update(
        _ change: @escaping @Sendable (inout Account) throws(AccountError) -> Void
    ) async throws(AccountError) -> Account {
        try await driver.withTransaction { transaction in
            switch await driver.load(transaction) {
            case .present(var account, let revision):
                try change(&account)
                return try await driver.save(account, revision, transaction)
            case .absent:
                throw AccountError(
                    .notSignedIn, "you are not signed in, so no account can be changed", hint: "sign in first")
            case .unreadable(let error): throw error
            }
        }
    }

    /// Changes the user's profile at the service, and then in the archive.
    ///
    /// - Parameters:
    ///   - authority: The service.
    ///   - change: Changes a copy of the profile.
    /// - Returns: The stored account, with the profile that the service returned.
    /// - Throws: ``AccountError/Code-swift.struct/serviceUnavailable`` if the service did not accept the change. Then
    ///   the archive is unchanged.
    @discardableResult
    public func updateProfile(
        with authority: any ProfileAuthority, _ change: (inout UserProfile) -> Void
    ) async throws(AccountError) -> Account {
        try refuseGivenToken()
        // A token is sent only to its own service.
        var account = try await loadedAccount(of: authority)
        let before = account.profile.fields
        change(&account.profile)
        let identity: Identity
        do {
            identity = try await authority.updateProfile(of: account)
        } catch {
            let failure = AuthorityError(error)
            throw AccountError(
                .serviceUnavailable,
                "the profile could not be changed at the service, so it was not changed here", hint: "try again",
                cause: failure
            )
        }
        let changed = account
        return try await update { stored throws(AccountError) in
            guard stored.isSameUser(as: changed), identity.id == stored.id else {
                throw AccountError(.conflict, "another user has signed in: the profile here was not changed")
            }
            // Only changed fields: another process may have changed others.
            for name in Set(before.keys).union(changed.profile.fields.keys)
            where changed.profile[name] != before[name] {
                stored.profile[name] = changed.profile[name]
            }
            stored.profile.merge(identity.profile)
            stored.username = identity.username ?? stored.username
        }
    }
}
