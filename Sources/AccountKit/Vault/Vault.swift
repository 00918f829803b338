package import Logging
import AccountCrypto

/// One session's entries in a storage: the encrypted account, and the records beside it.
///
/// A vault knows keys, encryption, revisions, locks and records, and nothing of services. ``read()`` needs no lock.
/// A change runs under the lock, with a ``VaultDraft``, and a refresh runs with a ``VaultLease``.
package final class Vault: Sendable {
    package enum Content: Sendable {
        case absent(SignOut)
        case present(Account, ArchiveRevision)
        case unreadable(AccountError)

        package var account: Account? { if case .present(let account, _) = self { account } else { nil } }

        /// The state of the session before a check: `.unverified` with the reason `notChecked`, or with the reason why
        /// AccountKit withholds the tokens: `wrongAccount` or `unclearReply`; `.signedOut` or `.unreadable`.
        package var state: SessionState {
            switch self {
            case .present(let account, _):
                .unverified(account, account.credentials.withholdingReason ?? .init(.notChecked))
            case .absent(let signOut): .signedOut(signOut)
            case .unreadable(let error): .unreadable(error)
            }
        }
    }

    let storage: any ArchiveStorage
    let ring: KeyRing
    let context: SealingContext
    let appIdentifier: String
    let session: SessionName
    let clock: any WallClock
    let lockTimeout: Duration
    let logger: Logger?

    let shared = SharedAccount()
    let unsaved = UnsavedTokens()
    let memory = VaultMemory()

    /// Creates the vault of a session of a container, without reading the archive.
    package convenience init(
        container: AppContainer, session: SessionName, keySources: [KeySource], clock: (any WallClock)? = nil,
        lockTimeout: Duration = .seconds(30), logger: Logger? = nil
    ) {
        self.init(
            storage: FileArchiveStorage(container: container, session: session), appIdentifier: container.identifier,
            session: session, keys: keySources.map { $0.provider(in: container, session: session) }, clock: clock,
            lockTimeout: lockTimeout, logger: logger)
    }

    /// Creates the vault of a session in another storage.
    package convenience init(
        storage: any ArchiveStorage, appIdentifier: String, session: SessionName, keys: [any KeyProvider],
        clock: (any WallClock)? = nil, lockTimeout: Duration = .seconds(30), logger: Logger? = nil
    ) {
        self.init(
            storage: storage, appIdentifier: appIdentifier, session: session, keys: keys,
            context: SealingContext(
                appIdentifier: appIdentifier, sessionName: session.rawValue, place: storage.sharedPlace),
            clock: clock, lockTimeout: lockTimeout, logger: logger)
    }

    /// Creates a vault with another context, such as one for all sessions of an app.
    init(
        storage: any ArchiveStorage, appIdentifier: String, session: SessionName, keys: [any KeyProvider],
        context: SealingContext, clock: (any WallClock)? = nil, lockTimeout: Duration = .seconds(30), logger: Logger?
    ) {
        self.storage = storage
        self.appIdentifier = appIdentifier
        self.session = session
        self.clock = clock ?? SystemWallClock()
        self.lockTimeout = lockTimeout
        self.logger = logger
        ring = KeyRing(keys, context: context, logger: logger)
        self.context = context
    }

    /// Whether several machines share the storage.
    var isShared: Bool { context.isBoundToPlace }

    /// The time to wait for the lock if the work can also be done later.
    var briefTimeout: Duration { min(lockTimeout, .seconds(1)) }

    // MARK: The records beside the account

    var revocations: RevocationQueue { RevocationQueue(vault: self) }
    var offlineKeys: OfflineKeys { OfflineKeys(vault: self) }
    var keptProfiles: KeptProfiles { KeptProfiles(vault: self) }

    // MARK: Reading

    /// Reads the account, and publishes it as the account in memory. For the files of a container, this needs no lock, no
    /// write and no network access, unless this process has tokens that it could not save. The function may ask the user
    /// for a passphrase.
    ///
    /// In the result, tokens that this process could not save replace the stored tokens.
    package func read() async -> Content {
        while true {
            let changeCount = shared.changeCount
            let content = await stored()
            // An account was published during the read, and may be older or newer than the result: read again.
            guard shared.publish(content, readSince: changeCount) else { continue }
            if unsaved.mayHaveOrphans(beside: content) {
                // Only under the lock is it certain that the session of these tokens has ended. If the lock is busy, the
                // next read tries again.
                _ = try? await change(timeout: briefTimeout) { await $0.read() }
            } else if content.account != nil, unsaved.isTimeToSave(at: clock.now) {
                await saveUnsaved(timeout: .zero)
            }
            return content
        }
    }

    /// Reads the account without a lock and without publishing it.
    func stored() async -> Content {
        let content = await content(isLocked: false) { try await self.storage.read($0) }
        memory.hasFittingKey = if case .unreadable(let error) = content { !error.isAboutKey } else { true }
        return content
    }

    /// Asks the user or a program for the key before AccountKit acquires the lock, unless the last key did not open the
    /// archive.
    func askBeforeLock() async {
        guard ring.sources.contains(where: \.asksOutside), memory.hasFittingKey,
            // If there is no key, the draft reports the error.
            let envelope = try? await envelope(), knownKeys(for: envelope) == nil
        else { return }
        _ = await stored()
    }

    /// Reads the archive with `read`, and opens it. If another process changes the archive or its keys at the same time,
    /// reads the archive again.
    ///
    /// - Parameter isLocked: Whether the caller holds the lock. If so, the content is current, and this function does
    ///   not ask the user for a passphrase.
    func content(isLocked: Bool, _ read: (ArchiveEntry) async throws -> StoredEntry?) async -> Content {
        do {
            var failure: (revision: ArchiveRevision, error: AccountError)?
            while true {
                let changeCount = memory.changeCount
                guard let stored = try await read(.account) else {
                    memory.forgetAccount()
                    return .absent(await lastSignOut(read))
                }
                // A change of the keys also changes the revision. If the revision is the same, the error is final.
                if let failure, failure.revision == stored.revision { throw failure.error }
                do {
                    if let account = try await opened(stored, isLocked: isLocked, readSince: changeCount) {
                        return .present(account, stored.revision)
                    }
                } catch let error as AccountError where error.isAboutKey {
                    failure = (stored.revision, error)
                }
            }
        } catch let error as AccountError {
            return .unreadable(error.namingFolder(of: storage))
        } catch {
            return .unreadable(AccountError(.inaccessible, "the archive cannot be read", cause: error))
        }
    }

    /// Returns the account in an archive, with the unsaved tokens; `nil` if this process has written the archive since the
    /// read, and may have saved the unsaved tokens.
    private func opened(_ stored: StoredEntry, isLocked: Bool, readSince changeCount: Int) async throws -> Account? {
        if let account = unsaved.account(for: stored.revision, isLocked: isLocked) { return account }
        var changeCount = changeCount
        let opened: OpenedArchive
        if let cached = memory.archive(of: stored.revision) {
            opened = cached
        } else {
            opened = try await open(stored, isInteractive: !isLocked)
            changeCount = memory.replace(with: opened, readSince: isLocked ? nil : changeCount)
        }
        let account = unsaved.merged(into: opened.account, stored.revision, isLocked: isLocked)
        return isLocked || memory.changeCount == changeCount ? account : nil
    }

    private func lastSignOut(_ read: (ArchiveEntry) async throws -> StoredEntry?) async -> SignOut {
        await attempt(orLog: "the reason for the last sign-out cannot be read") {
            SignOutRecord.decode(try await read(.signOut)?.bytes)
        } ?? .neverSignedIn
    }

    /// Opens an archive, with the last keys if they fit.
    ///
    /// - Parameter isInteractive: Whether to prompt for a passphrase; always `false` under the lock.
    func open(_ stored: StoredEntry, isInteractive: Bool) async throws -> OpenedArchive {
        let envelope = try context.envelope(in: stored.bytes)
        let keys =
            if let known = knownKeys(for: envelope) {
                known
            } else {
                try await ring.unlock(envelope, isInteractive: isInteractive)
            }
        return OpenedArchive(
            account: try context.open(envelope, with: keys), generation: envelope.generation, keys: keys,
            revision: stored.revision, byteCount: stored.bytes.count)
    }

    // MARK: Changing

    /// Runs `body` under the lock, with a draft of the session's entries.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait for the lock; `nil` for the time that the app chose.
    ///   - lease: The refresh lease, if the caller holds it.
    /// - Throws: ``AccountError/Code-swift.struct/busy`` after the timeout, another error if the lock cannot be acquired,
    ///   or the error of `body`.
    func change<Value>(
        timeout: Duration? = nil, under lease: (any ArchiveLease)? = nil,
        _ body: (VaultDraft) async throws -> Value
    ) async throws(AccountError) -> Value {
        let timeout = timeout ?? lockTimeout
        do {
            if let lease {
                return try await lease.withTransaction(timeout: timeout) {
                    try await body(VaultDraft(vault: self, transaction: $0))
                }
            }
            // Ask for a passphrase before acquiring the lock, so that other processes do not wait for the user.
            await askBeforeLock()
            return try await storage.withTransaction(timeout: timeout) {
                try await body(VaultDraft(vault: self, transaction: $0))
            }
        } catch {
            logger?.debug("a change of the archive failed", metadata: ["error": "\(error)"])
            throw AccountError(wrapping: error)
        }
    }

    /// Runs a step without which the session stays right, and logs its failure.
    @discardableResult
    func attempt<Value>(
        orLog failure: Logger.Message, _ level: Logger.Level = .warning, _ body: () async throws -> Value
    ) async -> Value? {
        do {
            return try await body()
        } catch {
            logger?.log(level: level, failure, metadata: ["error": "\(error)"])
            return nil
        }
    }

    // MARK: Unsaved tokens

    /// Keeps in memory new tokens that could not be saved. `spent` is the account whose tokens were spent for them, and
    /// `revision` is its revision.
    func keepUnsaved(_ account: Account, inPlaceOf spent: Account, ifRevision revision: ArchiveRevision) {
        unsaved.keep(account, inPlaceOf: spent, ifRevision: revision)
        shared.publish(account, isSignIn: false)
    }

    /// Saves the unsaved tokens under the lease. Without the lease, a process that refreshes the stored tokens at the
    /// same time would find these tokens instead, revoke its own new tokens, and so end this session. If `timeout` is
    /// above zero, the process may be about to end, so this function saves the tokens even if it cannot acquire the
    /// lease.
    func saveUnsaved(timeout: Duration) async {
        do {
            try await storage.withRefreshLease(timeout: timeout) { lease in
                await saveUnsaved(timeout: timeout, under: lease)
            }
        } catch {
            if timeout > .zero { await saveUnsaved(timeout: timeout, under: nil) }
        }
    }

    /// Saves the unsaved tokens. If this fails, the next read tries again.
    private func saveUnsaved(timeout: Duration, under lease: (any ArchiveLease)?) async {
        try? await change(timeout: timeout, under: lease) { draft in
            // The result contains the unsaved tokens instead of the stored tokens, unless another process has ended
            // their session.
            guard case .present(let account, let revision) = await draft.read(), unsaved.storedAccount != nil else {
                return
            }
            _ = try await draft.save(account, ifRevision: revision)
        }
    }
}

extension AccountError {
    var isAboutKey: Bool { code == .wrongKeyOrDamaged || code == .noKey }

    /// Whether the error means that the archive was reached but cannot be opened.
    package var isAboutContent: Bool {
        [.noKey, .wrongKeyOrDamaged, .damaged, .unsupportedVersion].contains(code)
    }

    /// Names the folder of the archive: a user with several sessions or apps has several archives.
    fileprivate func namingFolder(of storage: any ArchiveStorage) -> AccountError {
        let name = ArchiveEntry.account.rawValue
        guard let storage = storage as? FileArchiveStorage, message.hasPrefix(name) else { return self }
        var error = self
        error.message = storage.archivePath + message.dropFirst(name.count)
        return error
    }
}
