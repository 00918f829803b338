package import Logging
import AccountCrypto

/// Reads the account of a session, and does not change the session.
///
/// ``AccountStore`` wraps a reader. A program that only shows the stored account needs no store.
package struct ArchiveReader: Sendable {
    enum Content: Sendable {
        case absent(SignOut)
        case present(Account, ArchiveRevision)
        case unreadable(AccountError)

        var account: Account? { if case .present(let account, _) = self { account } else { nil } }

        /// The state of the session before a check.
        var state: SessionState {
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
    let codec: ArchiveCodec
    let appIdentifier: String
    let session: SessionName
    let logger: Logger?

    /// Creates a reader for a session of a container, without reading the archive.
    package init(
        container: AppContainer, session: SessionName, keySources: [any KeySource], logger: Logger? = nil
    ) {
        self.init(
            storage: FileArchiveStorage(container: container, session: session), appIdentifier: container.identifier,
            session: session, keySources: keySources, logger: logger)
    }

    /// Creates a reader for a session in another storage.
    package init(
        storage: any ArchiveStorage, appIdentifier: String, session: SessionName, keySources: [any KeySource],
        logger: Logger? = nil
    ) {
        self.init(
            storage: storage, appIdentifier: appIdentifier, session: session, keySources: keySources,
            context: SealingContext(
                appIdentifier: appIdentifier, sessionName: session.rawValue, place: storage.sharedPlace),
            logger: logger)
    }

    /// Creates a reader for an archive with another context, such as one for all sessions of an app.
    init(
        storage: any ArchiveStorage, appIdentifier: String, session: SessionName, keySources: [any KeySource],
        context: SealingContext, logger: Logger?
    ) {
        self.storage = storage
        self.appIdentifier = appIdentifier
        self.session = session
        self.logger = logger
        ring = KeyRing(keySources, context: context, logger: logger)
        codec = ArchiveCodec(context: context)
    }

    /// Reads the archive. For the files of a container, this needs no lock, no write and no network access. The function may
    /// ask the user for a passphrase.
    ///
    /// - Returns: `.unverified` with the reason `notChecked`, or with the reason why AccountKit withholds the tokens:
    ///   `wrongAccount` or `unclearReply`; `.signedOut` or `.unreadable`.
    package func load() async -> SessionState {
        let content = await content {
            try await storage.read($0)
        } opening: {
            try await open($0, isInteractive: true).account
        }
        return content.state
    }

    /// Reads the archive with `read`, and opens it with `open`. If `open` returns `nil`, or if another process changes
    /// the keys at the same time, reads the archive again.
    func content(
        reading read: (ArchiveEntry) async throws -> StoredEntry?,
        opening open: (StoredEntry) async throws -> Account?
    ) async -> Content {
        do {
            var failure: (revision: ArchiveRevision, error: AccountError)?
            while true {
                guard let stored = try await read(.account) else { return .absent(await lastSignOut(read)) }
                // A change of the keys also changes the revision. If the revision is the same, the error is final.
                if let failure, failure.revision == stored.revision { throw failure.error }
                do {
                    if let account = try await open(stored) { return .present(account, stored.revision) }
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

    private func lastSignOut(_ read: (ArchiveEntry) async throws -> StoredEntry?) async -> SignOut {
        do {
            return SignOutRecord.decode(try await read(.signOut)?.bytes)
        } catch {
            logger?.warning("the reason for the last sign-out cannot be read", metadata: ["error": "\(error)"])
            return .neverSignedIn
        }
    }

    /// Opens an archive, with known keys if they fit.
    ///
    /// - Parameter isInteractive: Whether to prompt for a passphrase; always `false` under the lock.
    func open(
        _ stored: StoredEntry, isInteractive: Bool, knownKeys: (Envelope) -> ArchiveKeys? = { _ in nil }
    ) async throws -> OpenedArchive {
        let envelope = try codec.envelope(in: stored.bytes)
        let keys =
            if let known = knownKeys(envelope) {
                known
            } else {
                try await ring.unlock(envelope, isInteractive: isInteractive)
            }
        return OpenedArchive(
            account: try codec.open(envelope, with: keys), generation: envelope.generation, keys: keys,
            revision: stored.revision, byteCount: stored.bytes.count)
    }
}

extension AccountError {
    var isAboutKey: Bool { code == .authenticationFailed || code == .noKey }

    /// Names the folder of the archive: a user with several sessions or apps has several archives.
    fileprivate func namingFolder(of storage: any ArchiveStorage) -> AccountError {
        let name = ArchiveEntry.account.rawValue
        guard let storage = storage as? FileArchiveStorage, message.hasPrefix(name) else { return self }
        var error = self
        error.message = storage.archivePath + message.dropFirst(name.count)
        return error
    }
}
