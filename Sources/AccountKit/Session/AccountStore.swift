public import Logging
import AccountCrypto
import Synchronization

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The account of one session: archived, encrypted, shared in memory, checked at start-up.
///
/// ```swift
/// let store = AccountStore(container: try AppContainer(identifier: "com.example.gists"))
/// switch await store.checkSession(with: authority) { … }
/// ```
///
/// Any number of tasks may use a store, and any number of processes a container. Only the user, or an explicit rejection by
/// the service, signs anyone out: not a network that is down, not a disk that is full, not a file that cannot be read.
public final class AccountStore: Sendable {
    /// Which session it is.
    public let session: SessionName

    let driver: SessionDriver
    let replacementHandler = Mutex<ReplacementHandler?>(nil)
    var clock: any WallClock { driver.clock }

    /// Where a store is shared: in the process, or, in tests that run in parallel, in a task and its children.
    package final class Sharing: Sendable {
        fileprivate let store: Mutex<AccountStore?>

        package init(_ store: AccountStore? = nil) { self.store = Mutex(store) }
    }

    @TaskLocal package static var sharing = Sharing()

    /// The store that the app made shared with ``makeShared()``; `nil` until then.
    public static var shared: AccountStore? { sharing.store.withLock { $0 } }

    /// Makes a store for a session of a container. Nothing is read yet.
    ///
    /// - Parameters:
    ///   - container: The folders of the app.
    ///   - session: One of several sign-ins.
    ///   - keySources: Where the keys of the archive come from, each of which opens it; by default a key file, made at the
    ///     first sign-in.
    ///   - clock: Tells the date.
    ///   - lockTimeout: How long to wait for another process that is changing the archive.
    ///   - logger: Where to log, if at all. Nothing secret and nothing personal is logged.
    public convenience init(
        container: AppContainer, session: SessionName = .default, keySources: [any KeySource]? = nil,
        clock: any WallClock = SystemWallClock(), lockTimeout: Duration = .seconds(30), logger: Logger? = nil
    ) {
        self.init(
            storage: FileArchiveStorage(container: container, session: session), appIdentifier: container.identifier,
            session: session, keySources: keySources ?? [KeyFile(container: container, session: session)], clock: clock,
            lockTimeout: lockTimeout, logger: logger)
    }

    /// Makes a store on a storage of one's own.
    ///
    /// - Parameters:
    ///   - storage: Where the archive is kept.
    ///   - appIdentifier: The app; bound into the archive, as is the session.
    ///   - session: One of several sign-ins. The storage must be the session's own.
    ///   - keySources: Where the keys of the archive come from, each of which opens it. There must be one.
    ///   - clock: Tells the date.
    ///   - lockTimeout: How long to wait for another process that is changing the archive.
    ///   - logger: Where to log, if at all.
    public init(
        storage: any ArchiveStorage, appIdentifier: String, session: SessionName = .default,
        keySources: [any KeySource], clock: any WallClock = SystemWallClock(), lockTimeout: Duration = .seconds(30),
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
            exchanges: Exchanges(), clock: clock, lockTimeout: lockTimeout, logger: logger)
    }

    private init(session: SessionName, driver: SessionDriver) {
        self.session = session
        self.driver = driver
    }

    /// Returns this store with permission to replace an archive that other machines may be able to open.
    ///
    /// If machines share the storage (``ArchiveStorage/sharedPlace``), a store leaves an archive that does not open here
    /// alone: signing in and signing out fail with the reason. Through the returned store they move the archive aside
    /// instead, as they do on storage of one machine. Ask the user first, because all machines that share the storage are
    /// affected:
    ///
    /// - After a sign-in they need the keys of this store.
    /// - After a sign-out they are signed out.
    /// - The tokens in the archive stay valid at the service, since nothing here can read them.
    ///
    /// Both stores have one account, one set of events and one lock.
    public func replacingUnreadableArchive() -> AccountStore {
        var driver = driver
        driver.replacesUnreadable = true
        return AccountStore(session: session, driver: driver)
    }

    /// Whether other machines use the storage too.
    package var isShared: Bool { driver.archive.isShared }

    /// Whether machines share the storage and it has an archive or a session whose move to there is not complete. Neither needs
    /// to open.
    package func hasSharedArchive() async throws -> Bool {
        guard isShared else { return false }
        for entry in [ArchiveEntry.account, .incoming] where try await driver.archive.storage.read(entry) != nil {
            return true
        }
        return false
    }

    /// Makes this the store that ``shared`` returns, for apps that want one for all of their code.
    public func makeShared() {
        Self.sharing.store.withLock { $0 = self }
    }

    // MARK: The shared account

    /// The account in memory, from any thread and without I/O; `nil` if nobody is signed in, or if nothing was read yet.
    public var account: Account? { driver.shared.account }

    /// Where the last sign-in of this store moved an archive that did not open, so that it was not lost; `nil` if there was
    /// none.
    public var quarantinedArchive: String? { driver.shared.quarantinedArchive }

    /// The changes of the account from now on, in their order, to each who asks; without tokens.
    ///
    /// Who takes them slowly does not hold anything up: the newest 64 wait, and ``AccountEvent/missed(_:)`` stands where
    /// older ones had to go.
    public func events() -> some AsyncSequence<AccountEvent, Never> & Sendable {
        driver.shared.events()
    }

    /// All events, each with the account that there was then, for tests that tell one token from another.
    package func accountEvents() -> AsyncStream<(event: AccountEvent, account: Account?)> {
        driver.shared.accountEvents()
    }

    /// Takes over what other processes do to the session. It returns only when the task is cancelled.
    ///
    /// The shared account and the events follow within a moment: on Linux the kernel tells of a change, and nothing is
    /// polled. A tool that runs on and on has a task for this. An archive that cannot be read for a while is no reason to end:
    /// the next change is looked at again.
    ///
    /// - Throws: An ``AccountError`` when changes cannot be followed any more, since the storage does not tell of them. The
    ///   shared account stays what it is; call it again, or ``load()`` now and then.
    public func observeExternalChanges() async throws(AccountError) {
        let changes = driver.archive.storage.changes(of: .account)
        // What happened before the watch began.
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

    // MARK: Looking

    /// Reads the archive: no network, and usually no lock and no write. A person may be asked for the passphrase.
    ///
    /// Tokens that this process could not save are saved now if that can be done, or, if another process has ended their
    /// sign-in meanwhile, put into the queue of ``deliverRevocations(with:ignoringPauses:isInteractive:)``: nobody else
    /// knows them.
    ///
    /// - Returns: `.unverified` with the reason `notChecked`, or `wrongAccount` if the service said so before; `.signedOut` or
    ///   `.unreadable`.
    public func load() async -> SessionState {
        if let givenToken { return load(givenToken) }
        return switch await driver.load() {
        case .present(let account, _):
            .unverified(account, account.credentials.isWithheld ? .withheld : .init(.notChecked))
        case .absent(let signOut): .signedOut(signOut)
        case .unreadable(let error): .unreadable(error)
        }
    }

    /// The start-up check: reads the archive, and asks the service whether the session still holds.
    ///
    /// A token that looks expired is refreshed first, and one that the service does not take is refreshed once. What the
    /// service says of the user is stored.
    ///
    /// - Parameters:
    ///   - authority: The service.
    ///   - policy: When to ask.
    ///   - timeout: How long to wait for all of it; `nil` as long as it takes. A refresh that has been sent goes on
    ///     afterwards, and its tokens are stored; see ``finishPendingRequests()``.
    /// - Returns: How things stand. Being offline, a service in trouble, an unclear answer and a time that is over are
    ///   `.unverified`, and keep the account.
    public func checkSession(
        with authority: any AccountAuthority, policy: CheckPolicy = .always, timeout: Duration? = .seconds(10)
    ) async -> SessionState {
        if let givenToken { return await check(givenToken, with: authority, policy, timeout) }
        let flow = CheckFlow(now: clock.now, maximumAge: policy.maximumAge.seconds) { authority.mismatch(with: $0) }
        let effects = LiveSessionEffects(driver, authority: authority, deadline: timeout.map { .now + $0 })
        let state = await flow.run(effects)
        if case .unverified(let account, let reason) = state, reason.code == .wrongAccount {
            await driver.withhold(account)
        }
        return state
    }

    /// When a refresh was begun whose response was never stored, because the process died or the response was lost.
    ///
    /// The stored refresh token may then be spent, and the next refresh may have to end the session.
    ///
    /// - Returns: `nil` if there is none, which is the usual case.
    package func unfinishedRefresh() async throws -> Date? {
        let record: RefreshRecord?
        do {
            record = try await driver.archive.journal.record()
        } catch let error as AccountError where error.code == .storeUnreachable {
            // Nothing can be refreshed then, and the account itself may still be known.
            return nil
        }
        guard let date = record?.date else { return nil }
        // Whoever holds the lease is at it.
        guard let lease = try? await driver.archive.storage.acquireRefreshLease(timeout: .zero) else { return nil }
        await lease.end()
        return try await driver.archive.journal.record()?.date == nil ? nil : date
    }

    /// Empty for a storage that says nothing of itself, such as files.
    package func inspectStorage() async -> [StorageObservation] {
        await (driver.archive.storage as? any InspectableArchiveStorage)?.inspect() ?? []
    }

    /// When the account that is known here was last known to be the stored one, because the storage cannot be reached.
    ///
    /// - Returns: `nil` if it can, or if there is no replica of the account; why it cannot be read, the state says.
    package func replicaDate() async -> Date? { (try? await driver.archive.storage.read(.account))?.asOf }

    // MARK: Changing

    /// Changes the stored account, whatever other processes have made of it by then.
    ///
    /// - Parameter change: Changes a copy. What it throws is passed on, and nothing is stored.
    /// - Returns: The account as it was stored.
    /// - Throws: ``AccountError/Code-swift.struct/notSignedIn`` if there is none.
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
                throw AccountError(.notSignedIn, "nobody is signed in, so there is nothing to change: sign in first")
            case .unreadable(let error): throw error
            }
        }
    }

    /// Changes the user's profile at the service, and here once the service has taken it.
    ///
    /// - Parameters:
    ///   - authority: The service.
    ///   - change: Changes a copy of the profile.
    /// - Returns: The account as it was stored, with what the service made of the change.
    /// - Throws: ``AccountError/Code-swift.struct/serviceUnavailable`` if the service did not take it; then nothing
    ///   changed here either.
    @discardableResult
    public func updateProfile(
        with authority: any ProfileAuthority, _ change: (inout UserProfile) -> Void
    ) async throws(AccountError) -> Account {
        try refuseGivenToken()
        // The token of one service goes to no other.
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
                "the profile could not be changed at the service, so it was not changed here: try again", cause: failure
            )
        }
        let changed = account
        return try await update { stored throws(AccountError) in
            guard stored.isSameUser(as: changed), identity.id == stored.id else {
                throw AccountError(.conflict, "another user has signed in meanwhile: the profile here was not changed")
            }
            // Only what was changed: another process may have changed other fields meanwhile.
            for name in Set(before.keys).union(changed.profile.fields.keys)
            where changed.profile[name] != before[name] {
                stored.profile[name] = changed.profile[name]
            }
            stored.profile.merge(identity.profile)
            stored.username = identity.username ?? stored.username
        }
    }
}
