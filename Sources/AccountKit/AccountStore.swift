import AccountCrypto
package import AccountSupport
public import Logging
import Synchronization

/// Stores the account of one session: encrypts it in an archive, shares it in memory, and checks it at start-up.
///
/// ```swift
/// let store = AccountStore(container: try AppContainer(identifier: "com.example.gists"))
/// switch await store.checkSession(with: authority) { … }
/// ```
///
/// Any number of tasks can use a store, and any number of processes can use a container. Only the user, or an explicit
/// rejection by the service, ends a session. An unreachable network, a full disk or an unreadable file does not end a
/// session.
public final class AccountStore: Sendable {
    /// The name of the session.
    public let session: SessionName

    let flows: Flows
    var clock: any WallClock { vault.clock }

    /// The vault of the session, which a program needs that only shows the stored account.
    package var vault: Vault { flows.vault }

    /// Holds the shared store: for the process, or in parallel tests for a task and its child tasks.
    package final class Sharing: Sendable {
        fileprivate let store: Mutex<AccountStore?>

        package init(_ store: AccountStore? = nil) { self.store = Mutex(store) }
    }

    @TaskLocal package static var sharing = Sharing()

    /// The store that any part of the app can use; `nil` until the app sets it.
    ///
    /// A test that needs another store calls `withShared(_:_:)` of AccountTesting.
    public static var shared: AccountStore? {
        get { sharing.store.withLock { $0 } }
        set { sharing.store.withLock { $0 = newValue } }
    }

    /// Creates a store for a session of a container, without reading the archive.
    ///
    /// - Parameters:
    ///   - container: The folders of the app.
    ///   - session: The name of the session.
    ///   - keySources: The sources of the archive's keys, at least one. Each key opens the archive.
    ///   - clock: The source of the current date; `nil` for the clock of the machine.
    ///   - lockTimeout: How long to wait while another process changes the archive.
    ///   - logger: The logger; `nil` for none. AccountKit logs no secrets and no personal data.
    public convenience init(
        container: AppContainer, session: SessionName = .default, keySources: [KeySource] = [.file],
        clock: (any WallClock)? = nil, lockTimeout: Duration = .seconds(30), logger: Logger? = nil
    ) {
        self.init(
            Vault(
                container: container, session: session, keySources: keySources, clock: clock, lockTimeout: lockTimeout,
                logger: logger))
    }

    /// Creates a store for a session in another storage, which no other session may use.
    package convenience init(
        storage: any ArchiveStorage, appIdentifier: String, session: SessionName = .default,
        keys: [any KeyProvider], clock: (any WallClock)? = nil, lockTimeout: Duration = .seconds(30),
        logger: Logger? = nil
    ) {
        self.init(
            Vault(
                storage: storage, appIdentifier: appIdentifier, session: session, keys: keys, clock: clock,
                lockTimeout: lockTimeout, logger: logger))
    }

    package convenience init(_ vault: Vault) { self.init(Flows(vault)) }

    init(_ flows: Flows) {
        session = flows.vault.session
        self.flows = flows
    }

    /// Creates a store for a token from an environment variable. Until the service has identified the user, the `id` of
    /// the account is the name of the variable. An explicit rejection by the service ends the session only in this
    /// store.
    package convenience init(
        token: Secret, from variable: String, appIdentifier: String, session: SessionName,
        clock: any WallClock = SystemWallClock(), logger: Logger? = nil
    ) {
        let given = GivenToken(token, from: variable, at: clock.now)
        var flows = Flows(
            Vault(
                storage: given, appIdentifier: appIdentifier, session: session, keys: [given], clock: clock,
                logger: logger))
        flows.givenToken = given
        self.init(flows)
    }

    /// Returns a store for the same session that may replace an archive that this machine may only be unable to open now.
    ///
    /// A store does not sign out of a locked archive. If machines share the storage
    /// (``ArchiveStorage/sharedPlace``), a store does not change any archive that does not open here: signing in and
    /// signing out fail with the reason. With the returned store, signing in and signing out move the archive aside
    /// instead. Ask the user first, because all machines that share the storage are affected:
    ///
    /// - After a sign-in, these machines need the keys of this store.
    /// - After a sign-out, these machines are signed out.
    /// - The tokens in the archive stay valid at the service, since this machine cannot read them.
    ///
    /// Both stores share the account, the events and the lock.
    package func replacingUnreadableArchive() -> AccountStore {
        var flows = flows
        flows.replacesUnreadable = true
        return AccountStore(flows)
    }

    /// Returns a store for the same session that does not revoke queued tokens itself, because the caller delivers the queues of
    /// all sessions; see ``deliverRevocations(with:ignoringPauses:isInteractive:)``.
    package func leavingRevocations() -> AccountStore {
        var flows = flows
        flows.deliversRevocations = false
        return AccountStore(flows)
    }

    /// Whether a token from the environment replaces the archive.
    package var usesGivenToken: Bool { flows.givenToken != nil }

    package var isShared: Bool { vault.isShared }

    /// Returns whether there is an archive, even if it cannot be opened.
    package func hasArchive() async throws -> Bool { try await vault.storage.read(.account) != nil }

    // MARK: The shared account

    /// The account in memory; `nil` if no user is signed in, or if the store has not yet read the archive. Reading this
    /// property does no I/O.
    public var account: Account? { vault.shared.account }

    /// The name of the archive that the last sign-in of this store moved aside because it could not be opened; `nil` if there
    /// is no such archive.
    package var quarantinedArchive: String? { vault.shared.quarantinedArchive }

    /// Returns the changes of the account from now on, in order and without tokens.
    ///
    /// Each sequence buffers the newest 64 events. ``AccountEvent/missed(_:)`` replaces older events, so a slow reader
    /// does not delay the store.
    public func events() -> some AsyncSequence<AccountEvent, Never> & Sendable {
        vault.shared.events()
    }

    /// Returns a stream of all events, each with the account at the time of the event, for tests that compare tokens.
    package func accountEvents() -> AsyncStream<(event: AccountEvent, account: Account?)> {
        vault.shared.accountEvents()
    }

    /// Updates the shared account and the events when other processes change the session, until the task is cancelled.
    ///
    /// On Linux the kernel reports each change, so AccountKit does not poll. A long-running tool calls this function in
    /// a task. If the archive cannot be read, the function continues with the next change.
    ///
    /// - Throws: An ``AccountError`` if the storage no longer reports changes. The shared account keeps its value. Call
    ///   this function again, or call ``load()`` from time to time.
    public func observeExternalChanges() async throws(AccountError) {
        let changes = vault.storage.changes(of: .account)
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

    /// Reads the archive, without network access and usually without a lock or a write. The function may ask the user
    /// for a passphrase.
    ///
    /// If this process has tokens that it could not save before, the function tries again to save them. If another
    /// process has ended the session of these tokens, the function queues the tokens for revocation, since no other
    /// process has them.
    ///
    /// - Returns: `.unverified` with the reason `notChecked`, or `wrongAccount` if the service reported before that the
    ///   token belongs to another user; `.signedOut` or `.unreadable`.
    public func load() async -> SessionState {
        await flows.load()
    }

    /// Checks at start-up whether the session is still valid. The function reads the archive and asks the service.
    ///
    /// If the access token has expired according to the local clock, AccountKit refreshes it first. If the service
    /// rejects the token, AccountKit refreshes it once. AccountKit stores the profile from the response.
    ///
    /// The session of a client has no user to identify. It counts as verified until its access token expires, and then
    /// AccountKit requests another one. If the expiry is unknown, each check requests another token.
    ///
    /// - Parameters:
    ///   - authority: The service.
    ///   - maximumAge: The time for which a confirmation by the service is valid. During this time, the function does
    ///     not ask the service.
    ///   - timeout: How long to wait; `nil` for no limit. A refresh that has been sent continues after the timeout, and
    ///     its tokens are stored; see ``finishPendingRequests()``.
    /// - Returns: The state of the session. If the service is unreachable or fails, if its response is unclear, or
    ///   after the timeout, the state is `.unverified`, and AccountKit keeps the account.
    public func checkSession(
        with authority: any AccountAuthority, maximumAge: Duration = .zero, timeout: Duration? = .seconds(10)
    ) async -> SessionState {
        await flows.check(with: authority, maximumAge: maximumAge, timeout: timeout)
    }

    /// Confirms the session of a client without a user by a request for another access token.
    package func confirmMachine(
        with authority: any AccountAuthority, timeout: Duration? = .seconds(10)
    ) async -> SessionState {
        await flows.confirmMachine(with: authority, timeout: timeout)
    }

    /// Returns the date when a refresh began whose response was never stored; `nil` if there is no such refresh. After
    /// such a refresh, the stored refresh token may be spent, and the next refresh may end the session.
    package func unfinishedRefresh() async throws -> Date? {
        let record: RefreshRecord?
        do {
            record = try await vault.refreshRecord()
        } catch let error as AccountError where error.code == .storeUnreachable {
            // No refresh is possible, but there may be a replica of the account.
            return nil
        }
        guard let date = record?.date else { return nil }
        // If another process holds the lease, its refresh is still running.
        do {
            try await vault.storage.withRefreshLease(timeout: .zero) { _ in }
        } catch {
            return nil
        }
        return try await vault.refreshRecord()?.date == nil ? nil : date
    }

    package func inspectStorage() async -> [StorageObservation] {
        await vault.storage.inspect()
    }

    /// Returns the date of the account's replica; `nil` if the storage is reachable or there is no replica.
    package func replicaDate() async -> Date? { (try? await vault.storage.read(.account))?.asOf }

    // MARK: Changing

    /// Changes the stored account. The change applies to the current account, including changes by other processes.
    ///
    /// - Parameter change: A function that changes a copy of the stored account. If it throws an error, nothing is
    ///   stored.
    /// - Returns: The stored account.
    /// - Throws: ``AccountError/Code-swift.struct/notSignedIn`` if no user is signed in, or the error of `change`.
    @discardableResult
    public func update(
        _ change: @escaping @Sendable (inout Account) throws(AccountError) -> Void
    ) async throws(AccountError) -> Account {
        try await flows.update(change)
    }

    /// Changes the app's own fields of the stored profile, as a value of the app's own type.
    ///
    /// ```swift
    /// try await store.updateFields(default: Settings()) { settings in settings.theme = "dark" }
    /// ```
    ///
    /// The function decodes the newest stored fields, and stores only the fields that `change` changed. Changes of other
    /// fields by other processes are kept. A property is one field, including all members of its value. If `change` sets a
    /// property to `nil`, the function removes its field, so the next call uses the value of `value` again.
    ///
    /// - Parameters:
    ///   - value: The values of fields that are not stored. A default value that does not change is not stored.
    ///   - change: A function that changes a copy of the value. If it throws an error, nothing is stored.
    /// - Returns: The stored account.
    /// - Throws: ``AccountError/Code-swift.struct/notSignedIn`` if no user is signed in, the error of `change`, or the
    ///   errors of ``UserProfile/decoded(default:)`` and ``UserProfile/init(encoding:)``.
    @discardableResult
    public func updateFields<Value: Codable & Sendable>(
        default value: Value, _ change: @escaping @Sendable (inout Value) throws(AccountError) -> Void
    ) async throws(AccountError) -> Account {
        try await flows.update { account throws(AccountError) in
            var changed = try account.profile.decoded(default: value)
            let before = try UserProfile(encoding: changed)
            try change(&changed)
            account.profile.apply(try UserProfile(encoding: changed), since: before)
        }
    }

    /// Sends a change of the user's profile to the service, and then stores the profile. If the access token has expired, or
    /// if the service refuses it, the function first refreshes it once.
    ///
    /// - Parameters:
    ///   - authority: The service, which implements ``AccountAuthority/updateProfile(of:)``.
    ///   - change: A function that changes a copy of the profile.
    /// - Returns: The stored account, with the profile that the service returned.
    /// - Throws: ``AccountError/Code-swift.struct/requestRefused`` if the service refused the change,
    ///   ``AccountError/Code-swift.struct/serviceUnavailable`` if there is no usable response now,
    ///   ``AccountError/Code-swift.struct/conflict`` if another user has signed in, or an error of
    ///   ``accessToken(minimumValidity:timeout:with:)``. In these cases, the archive contains the old profile.
    @discardableResult
    public func sendProfile(
        to authority: any AccountAuthority, _ change: (inout UserProfile) -> Void
    ) async throws(AccountError) -> Account {
        try await flows.sendProfile(to: authority, change)
    }
}

extension AccountStore {
    /// Waits until the tokens of all pending requests are stored or revoked.
    ///
    /// Call this function before the process ends. A refresh token or sign-in code is spent as soon as it is sent, so a
    /// process that ends before it has stored the response may lose the session. If a function of this store was
    /// cancelled or timed out, its request continues for at most ``AccountAuthority/tokenRequestTimeout``. If tokens
    /// could not be saved before, this function tries again. If this fails, the tokens are lost when the process ends.
    /// A refresh that was cancelled before its request was sent releases its lease. If the store revokes tokens of an earlier
    /// sign-in, the function waits for that too. If there are no pending requests, the function returns at once.
    public func finishPendingRequests() async {
        await flows.exchanges.finish()
        await flows.refreshes.finishGivenUp()
        await flows.deliveries.finish()
        guard vault.unsaved.storedAccount != nil else { return }
        // The task may already be cancelled when the process ends.
        await shielded { [vault] in await vault.saveUnsaved(timeout: vault.lockTimeout) }
    }

    package var hasUnsavedTokens: Bool { vault.unsaved.storedAccount != nil }

    package var hasFinishedExchanges: Bool { flows.exchanges.isEmpty }

    package func observeExchanges(_ observer: any ExchangeObserver) {
        flows.exchanges.observe(observer)
    }
}
