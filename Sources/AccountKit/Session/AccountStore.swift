public import Logging
import Sealing
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The account of one session: archived, encrypted, shared in memory, checked at start-up.
///
/// ```swift
/// let store = AccountStore(container: try AppContainer(identifier: "com.example.gists"))
/// switch await store.checkSession(with: authority) { … }
/// ```
///
/// Any number of tasks may use a store, and any number of processes a container. Only the user, or a definite word of the
/// service, signs anyone out: not a network that is down, not a disk that is full, not a file that cannot be read.
public final class AccountStore: Sendable {
    /// Which session it is.
    public let session: SessionName

    private let driver: SessionDriver
    private var clock: any WallClock { driver.clock }

    /// Keeps those who ask for a token again and again from asking the service as often.
    private let backoff = Mutex(RefreshBackoff())

    private static let sharedStore = Mutex<AccountStore?>(nil)

    /// The store that the app made shared with ``share()``; `nil` until then.
    public static var shared: AccountStore? { sharedStore.withLock { $0 } }

    /// Makes a store for a session of a container. Nothing is read yet.
    ///
    /// - Parameters:
    ///   - container: The folders of the app.
    ///   - session: One of several sign-ins.
    ///   - keySource: Where the key of the archive comes from; by default a key file, made at the first sign-in.
    ///   - clock: Tells the date.
    ///   - lockPatience: How long to wait for another process that is changing the archive.
    ///   - logger: Where to log, if at all. Nothing secret and nothing personal is logged.
    public convenience init(
        container: AppContainer, session: SessionName = .default, keySource: (any KeySource)? = nil,
        clock: any WallClock = SystemWallClock(), lockPatience: Duration = .seconds(30), logger: Logger? = nil
    ) {
        self.init(
            storage: FileArchiveStorage(container: container, session: session), appIdentifier: container.identifier,
            session: session, keySource: keySource ?? KeyFile(container: container), clock: clock,
            lockPatience: lockPatience, logger: logger)
    }

    /// Makes a store on a storage of one's own.
    ///
    /// - Parameters:
    ///   - storage: Where the archive is kept.
    ///   - appIdentifier: The app; bound into the archive, as is the session.
    ///   - session: One of several sign-ins. The storage must be the session's own.
    ///   - keySource: Where the key of the archive comes from.
    ///   - clock: Tells the date.
    ///   - lockPatience: How long to wait for another process that is changing the archive.
    ///   - logger: Where to log, if at all.
    public init(
        storage: any ArchiveStorage, appIdentifier: String, session: SessionName = .default,
        keySource: any KeySource, clock: any WallClock = SystemWallClock(), lockPatience: Duration = .seconds(30),
        logger: Logger? = nil
    ) {
        self.session = session
        let archive = AccountArchive(
            storage: storage, keySource: keySource,
            context: SealingContext(appIdentifier: appIdentifier, sessionName: session.rawValue), logger: logger)
        let revocations = RevocationQueue(
            storage: storage, keySource: keySource, appIdentifier: appIdentifier, session: session)
        driver = SessionDriver(
            archive: archive, revocations: revocations, shared: SharedAccount(), refreshes: SharedRefreshes(),
            clock: clock,
            lockPatience: lockPatience, logger: logger)
    }

    /// Makes this the store that ``shared`` returns, for apps that want one for all of their code.
    public func share() {
        Self.sharedStore.withLock { $0 = self }
    }

    // MARK: The shared account

    /// The account in memory, from any thread and without I/O; `nil` if nobody is signed in, or if nothing was read yet.
    public var account: Account? { driver.shared.account }

    /// The changes of the account from now on, in their order, to each who asks.
    public func events() -> some AsyncSequence<AccountEvent, Never> & Sendable {
        driver.shared.events()
    }

    /// Takes over what other processes do to the session, until the task is cancelled.
    ///
    /// The shared account and the events follow within a moment: on Linux the kernel tells of a change, and nothing is
    /// polled. A tool that runs on and on has a task for this.
    public func followChanges() async {
        let changes = driver.archive.storage.changes(of: .account)
        // What happened before the watch began.
        _ = await load()
        for await _ in changes { _ = await load() }
    }

    // MARK: Looking

    /// Reads the archive: no network, no lock, no write.
    ///
    /// - Returns: `.unverified` with the reason `notChecked`, `.signedOut` or `.unreadable`.
    public func load() async -> SessionState {
        await driver.run(LoadProcedure())
    }

    /// The start-up check: reads the archive, and asks the service whether the session still holds.
    ///
    /// A token that looks expired is refreshed first, and one that the service does not take is refreshed once. What the
    /// service says of the user is stored.
    ///
    /// - Parameters:
    ///   - authority: The service.
    ///   - policy: When to ask.
    /// - Returns: How things stand. Being offline, a service in trouble and an unclear answer are `.unverified`, and keep
    ///   the account.
    public func checkSession(
        with authority: any AccountAuthority, policy: CheckPolicy = .always
    ) async -> SessionState {
        await driver.run(CheckProcedure(now: clock.now, maximumAge: policy.maximumAge), authority: authority)
    }

    /// When a refresh was begun whose reply was never stored, because the process died or the reply was lost.
    ///
    /// The stored refresh token may then be spent, and the next refresh may have to end the session.
    ///
    /// - Returns: `nil` if there is none, which is the usual case.
    public func unfinishedRefresh() async throws -> Date? {
        try await driver.archive.unfinishedRefresh()
    }

    // MARK: Tokens

    /// An access token that is good for a while, refreshed first if need be.
    ///
    /// - Parameters:
    ///   - minimumValidity: For how many seconds the token should still be good. A token of unknown expiry always is.
    ///   - authority: The service.
    /// - Returns: The token. If it could not be refreshed and has not expired yet, the one that there is. After a failure
    ///   the service is left alone for a while, which grows from 2 s to 5 min.
    /// - Throws: ``AccountError/Code-swift.struct/notSignedIn`` if nobody is signed in (any more), or
    ///   ``AccountError/Code-swift.struct/serviceUnavailable`` if the token has expired and could not be refreshed now.
    public func accessToken(
        minimumValidity: TimeInterval = 60, with authority: any AccountAuthority
    ) async throws(AccountError) -> Secret {
        let account = try await loadedAccount()
        guard account.credentials.expires(within: minimumValidity, of: clock.now),
            account.credentials.refreshToken != nil
        else { return account.credentials.accessToken }
        if let wait = backoff.withLock({ $0.wait(for: account.credentials, at: clock.now) }) {
            if !account.credentials.expires(within: 0, of: clock.now) { return account.credentials.accessToken }
            throw AccountError(
                .serviceUnavailable,
                "the token has expired and could not be refreshed a moment ago; the next try is in \(Int(wait) + 1) s, and "
                    + "you are still signed in")
        }
        return try await refreshedAccount(account, with: authority, needed: false).credentials.accessToken
    }

    /// Refreshes the tokens now, whether they look expired or not.
    ///
    /// - Throws: As ``accessToken(minimumValidity:with:)``, and ``AccountError/Code-swift.struct/misconfigured`` if there
    ///   is no refresh token.
    @discardableResult
    public func refresh(with authority: any AccountAuthority) async throws(AccountError) -> Account {
        let account = try await loadedAccount()
        guard account.credentials.refreshToken != nil else {
            throw AccountError(
                .misconfigured, "the service gave no refresh token, so there is nothing to refresh with: sign in again")
        }
        return try await refreshedAccount(account, with: authority, needed: true)
    }

    private func loadedAccount() async throws(AccountError) -> Account {
        switch await load() {
        case .verified(let account), .unverified(let account, _): return account
        case .signedOut(let signOut): throw AccountError(notSignedIn: signOut)
        case .unreadable(let error): throw error
        }
    }

    private func refreshedAccount(
        _ account: Account, with authority: any AccountAuthority, needed: Bool
    ) async throws(AccountError) -> Account {
        let outcome = await driver.refresh(account, authority)
        if case .kept(_, let reason) = outcome, reason.code != .cancelled {
            let jitter = Double.random(in: 0.5...1)
            backoff.withLock { $0.fail(for: account.credentials, reason, at: clock.now, jitter: jitter) }
        } else {
            backoff.withLock { $0.succeed() }
        }
        switch outcome {
        case .current(let account), .unsaved(let account, _): return account
        case .signedOut(let signOut): throw AccountError(notSignedIn: signOut)
        case .unreadable(let error): throw error
        case .kept(let account, let reason):
            if !needed, !account.credentials.expires(within: 0, of: clock.now) { return account }
            throw AccountError(
                reason.code == .misconfigured ? .misconfigured : .serviceUnavailable,
                "the tokens could not be refreshed (\(reason)); you are still signed in")
        }
    }

    // MARK: Changing

    /// Signs in: makes sure that the account can be stored, gets it from `obtain`, and puts it in place of the old one.
    ///
    /// Until the new account is stored, the old one stays what it was. An archive that does not open is moved aside, not
    /// overwritten.
    ///
    /// - Parameter obtain: Gets the account from the service; throws an ``AuthoritySignal`` if that fails.
    /// - Returns: The account as it was stored.
    /// - Throws: An ``AccountError``: ``AccountError/Code-swift.struct/signInRefused`` if the service refused, others if it
    ///   could not be reached or the account cannot be stored.
    @discardableResult
    public func signIn(
        obtaining obtain: () async throws -> Account
    ) async throws(AccountError) -> Account {
        try await driver.prepareSave()
        let account: Account
        do {
            account = try await obtain()
        } catch let error as AccountError {
            throw error
        } catch {
            throw AccountError(signIn: AuthoritySignal(error))
        }
        return try await driver.run(SignInProcedure(account)).get()
    }

    /// Signs in with a user name and a password. See ``signIn(obtaining:)``.
    @discardableResult
    public func signIn(
        username: String, password: Secret, with authority: any PasswordAuthority
    ) async throws(AccountError) -> Account {
        try await signIn { try await authority.signIn(username: username, password: password) }
    }

    /// Signs in with a token that the user got elsewhere, which the service is asked about first. See
    /// ``signIn(obtaining:)``.
    @discardableResult
    public func signIn(token: Secret, with authority: any TokenAuthority) async throws(AccountError) -> Account {
        try await signIn { try await authority.signIn(token: token) }
    }

    /// Changes the stored account, whatever other processes have made of it by then.
    ///
    /// - Parameter change: Changes a copy. What it throws is passed on, and nothing is stored.
    /// - Returns: The account as it was stored.
    /// - Throws: ``AccountError/Code-swift.struct/notSignedIn`` if there is none.
    @discardableResult
    public func update(
        _ change: @escaping @Sendable (inout Account) throws(AccountError) -> Void
    ) async throws(AccountError) -> Account {
        try await driver.run(UpdateProcedure(change)).get()
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
        var account = try await loadedAccount()
        change(&account.profile)
        let identity: Identity
        do {
            identity = try await authority.updateProfile(of: account)
        } catch {
            let signal = AuthoritySignal(error)
            throw AccountError(.serviceUnavailable, "the service did not take the change of the profile", cause: signal)
        }
        let changed = account
        return try await update { stored throws(AccountError) in
            guard stored.isSameUser(as: changed), identity.id == stored.id else {
                throw AccountError(.conflict, "another user has signed in meanwhile: the profile here was not changed")
            }
            stored.profile = changed.profile
            stored.profile.merge(identity.profile)
            stored.username = identity.username ?? stored.username
        }
    }

    /// Signs out: removes the account here at once, and tells the service then.
    ///
    /// If the service cannot be told, the tokens are kept, sealed, for ``deliverRevocations(with:)``.
    ///
    /// - Parameter authority: The service; `nil` does not tell it.
    /// - Returns: Who was signed out, and whether the service knows.
    /// - Throws: An ``AccountError`` if the archive could not be changed; then nobody was signed out.
    @discardableResult
    public func signOut(with authority: (any AccountAuthority)? = nil) async throws(AccountError) -> SignOutReport {
        let signOut = SignOut(.signedOutByUser, date: clock.now)
        let procedure = SignOutProcedure(signOut, isToBeTold: authority != nil)
        let account = try await driver.run(procedure).get()
        guard let account, let authority else { return SignOutReport(account: account, revocation: .notNeeded) }
        if let signal = await undeliveredSignal(of: account, to: authority) {
            return SignOutReport(account: account, revocation: .undelivered(signal))
        }
        let queued = (try? await driver.revocations.pending()) ?? []
        try? await driver.revocations.remove(
            queued.filter { $0.account.isSameGrant(as: account) }, patience: driver.lockPatience)
        return SignOutReport(account: account, revocation: .done)
    }

    /// Tells the services of sign-outs that they could not be told of before.
    ///
    /// Worth doing whenever a service has just been reached. Costs nothing if there are none.
    ///
    /// - Parameter authority: The service of an account; `nil` leaves that one for later.
    /// - Returns: Those that a service was asked to take and did not.
    @discardableResult
    public func deliverRevocations(
        with authority: (Account) -> (any AccountAuthority)?
    ) async -> [(revocation: PendingRevocation, signal: AuthoritySignal)] {
        guard let pending = try? await driver.revocations.pending() else { return [] }
        var done: [RevocationQueue.Pending] = []
        var undelivered: [(PendingRevocation, AuthoritySignal)] = []
        for revocation in pending {
            let description = PendingRevocation(revocation)
            if clock.now.timeIntervalSince(description.date) > RevocationQueue.maximumAge {
                done.append(revocation)
                continue
            }
            guard let authority = authority(revocation.account) else { continue }
            if let signal = await undeliveredSignal(of: revocation.account, to: authority) {
                undelivered.append((description, signal))
            } else {
                done.append(revocation)
            }
        }
        // One that stays although it was delivered is delivered again, which a service takes as done (RFC 7009, 2.2).
        try? await driver.revocations.remove(done, patience: driver.lockPatience)
        return undelivered
    }

    /// Tells a service of a sign-out: `nil` if it has taken it, or never will.
    private func undeliveredSignal(
        of account: Account, to authority: any AccountAuthority
    ) async -> AuthoritySignal? {
        do {
            try await authority.revoke(account)
            return nil
        } catch {
            let signal = AuthoritySignal(error)
            let holdsRefreshToken = account.credentials.refreshToken != nil
            let ruling = Ruling(on: signal, to: .revoke, .init(holdsRefreshToken: holdsRefreshToken))
            return ruling == .revokeLater ? signal : nil
        }
    }

    /// The sign-outs that a service has not been told of yet.
    public func pendingRevocations() async throws -> [PendingRevocation] {
        try await driver.revocations.pending().map(PendingRevocation.init)
    }
}

/// A sign-out that a service has not been told of yet.
public struct PendingRevocation: Sendable, Hashable {
    /// The service.
    public let issuer: String?

    /// When the user signed out.
    public let date: Date

    init(_ pending: RevocationQueue.Pending) {
        issuer = pending.account.issuer
        date = pending.account.verifiedAt ?? .distantPast
    }
}

/// Who was signed out, and whether the service knows.
public struct SignOutReport: Sendable {
    /// Whether the service was told.
    public enum Revocation: Sendable, Hashable {
        /// There was nobody to sign out, or the service was not to be told.
        case notNeeded
        /// The service has forgotten the tokens, or never knew them.
        case done
        /// The service could not be told yet, and will be: see ``AccountStore/deliverRevocations(with:)``.
        case undelivered(AuthoritySignal)
    }

    /// Who was signed out; `nil` if nobody was signed in.
    public let account: Account?

    /// Whether the service was told.
    public let revocation: Revocation
}

extension Account {
    fileprivate func isSameGrant(as other: Account) -> Bool {
        isSameUser(as: other) && credentials.hasSameTokens(as: other.credentials)
    }
}

/// Reads the archive.
private struct LoadProcedure: SessionProcedure {
    func start() -> SessionStep<SessionState> { .load }

    func resume(after event: SessionEvent) -> SessionStep<SessionState> {
        switch event {
        case .content(.present(let account, _)): .finish(.unverified(account, .init(.notChecked)))
        case .content(.absent(let signOut)): .finish(.signedOut(signOut))
        case .content(.unreadable(let error)): .finish(.unreadable(error))
        default: unexpected(event, in: "loading")
        }
    }
}
