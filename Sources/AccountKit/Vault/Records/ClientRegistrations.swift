import AccountCrypto
import AccountSupport
package import Logging
import Synchronization

/// The registrations of an app at services, encrypted, for all sessions of a container.
///
/// There is one registration for each issuer. If the app needs more scopes, for example, a sign-in updates the
/// registration, or replaces it if the service does not support updates. The registrations have a separate key file,
/// `Clients/Registrations.key`: they identify the app and not the user, and sessions with different keys share them.
package struct ClientRegistrations: Sendable {
    private let vault: Vault
    private var storage: any ArchiveStorage { vault.storage }

    /// Creates the registrations of a container, without reading them.
    package init(container: AppContainer, logger: Logger? = nil) {
        self.init(
            storage: FileArchiveStorage(folder: container.registrationsPath, in: container),
            key: KeyFile(registrationsIn: container), appIdentifier: container.identifier,
            clock: SystemWallClock(), logger: logger)
    }

    package init(
        storage: any ArchiveStorage, key: any KeyProvider, appIdentifier: String, clock: any WallClock,
        logger: Logger? = nil
    ) {
        vault = Vault(
            storage: storage, appIdentifier: appIdentifier, session: .default, keys: [key],
            context: SealingContext(appIdentifier: appIdentifier, sessionName: "/clients"), clock: clock, logger: logger
        )
    }

    /// The name of an issuer's file. The context of the file contains the complete issuer.
    static func entry(of issuer: String) -> ArchiveEntry {
        ArchiveEntry(rawValue: "Client-\(Sodium.hash(Array(issuer.utf8), count: 16).hexadecimal).plist")
    }

    /// The name of the file that sign-ins lock while they use the registration.
    private static func lockName(of issuer: String) -> String {
        "SignIn-\(Sodium.hash(Array(issuer.utf8), count: 16).hexadecimal).lock"
    }

    private func records(
        of issuer: String, in transaction: (any ArchiveTransaction)? = nil
    ) -> SealedRecords<ClientRegistration> {
        SealedRecords(
            at: [Self.entry(of: issuer)], purpose: "client/" + issuer, name: "the registration at \(issuer)",
            vault: vault, in: transaction)
    }

    /// Returns the registration at a service; `nil` if there is none, or if it cannot be opened.
    package func registration(at issuer: String) async throws(AccountError) -> ClientRegistration? {
        try await AccountError.wrappingErrors { try await stored(at: issuer).registration }
    }

    /// Returns the registration that `choose` selects, and stores it if it is new.
    ///
    /// Other processes wait until this function returns, so that processes that register at once share one registration.
    /// AccountKit checks first that it can store a registration.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait for another process that registers the app.
    ///   - choose: Receives the stored registration, and returns it or a new one.
    package func renew(
        at issuer: String, timeout: Duration = .seconds(60),
        choosing choose: (ClientRegistration?) async throws -> ClientRegistration
    ) async throws -> ClientRegistration {
        let entry = Self.entry(of: issuer)
        return try await storage.withRefreshLease(timeout: timeout) { lease in
            let (stored, revision) = try await lease.withTransaction(timeout: timeout) { transaction in
                try await transaction.reserve(entry, byteCount: 16 * 1024)
                let found = try await self.stored(at: issuer, in: transaction)
                // Without a key, a new registration could not be stored.
                if found.registration == nil { _ = try await vault.keysBeside() }
                return found
            }
            let chosen = try await choose(stored)
            if chosen == stored { return chosen }
            let written = try await lease.withTransaction(timeout: timeout) { transaction in
                try await records(of: issuer, in: transaction).write(chosen, to: entry, ifRevision: revision)
            }
            return written.payload
        }
    }

    /// Prevents the removal of a registration at its service, because sessions on other machines may use it.
    package func keep(clientID: String?, at issuer: String) async throws {
        guard let known = try await registration(at: issuer), known.clientID == clientID, known.management != nil else {
            return
        }
        _ = try await renew(at: issuer) { stored in
            guard var kept = stored else { throw AccountError(.conflict, "another process removed the registration") }
            if kept.clientID == clientID { kept.management = nil }
            return kept
        }
    }

    /// Prevents the removal of the registration at a service until the use ends. To be sure that no other process is
    /// removing the registration, call this function in ``renew(at:timeout:choosing:)``.
    package func beginUse(at issuer: String) async throws -> RegistrationUse {
        guard let use = try await lock(at: issuer, isShared: true) else {
            throw AccountError(.busy, "another process is removing the registration at \(issuer)", hint: "try again")
        }
        return use
    }

    /// Returns whether no sign-in uses the registration at a service. Call this function in
    /// ``renew(at:timeout:choosing:)``, because no other sign-in begins there.
    package func isUnused(at issuer: String) async throws -> Bool {
        try await lock(at: issuer, isShared: false) != nil
    }

    private func lock(at issuer: String, isShared: Bool) async throws -> RegistrationUse? {
        guard let storage = storage as? FileArchiveStorage else { return RegistrationUse(nil) }
        guard let lock = try await storage.tryLock(Self.lockName(of: issuer), isShared: isShared) else { return nil }
        return RegistrationUse(lock)
    }

    /// Removes a registration, unless another one has replaced it, or a session or a sign-in uses it.
    ///
    /// Sign-ins wait until this function returns, and then register the app again.
    package func remove(
        clientID: String?, at issuer: String, unless isUsed: () async throws -> Bool,
        removingAtService removeAtService: (ClientRegistration) async throws -> Void
    ) async throws(AccountError) {
        try await whileUnused(at: issuer, unless: isUsed) { stored in
            guard let stored, stored.clientID == clientID else { return }
            try await removeAtService(stored)
            try await remove(stored)
        }
    }

    /// Removes a registration that another one has replaced, unless a session or a sign-in uses it.
    package func removeReplaced(
        _ registration: ClientRegistration, unless isUsed: () async throws -> Bool,
        removingAtService removeAtService: (ClientRegistration) async throws -> Void
    ) async throws(AccountError) {
        try await whileUnused(at: registration.issuer, unless: isUsed) { stored in
            guard stored?.clientID != registration.clientID else { return }
            try await removeAtService(registration)
        }
    }

    /// Runs `body` with the stored registration while no sign-in can begin, unless a sign-in is in progress.
    private func whileUnused(
        at issuer: String, unless isUsed: () async throws -> Bool,
        _ body: (ClientRegistration?) async throws -> Void
    ) async throws(AccountError) {
        try await AccountError.wrappingErrors {
            try await storage.withRefreshLease(timeout: .seconds(10)) { _ in
                let stored = try await registration(at: issuer)
                guard let lock = try await lock(at: issuer, isShared: false) else { return }
                defer { lock.end() }
                // A sign-in stores its session before it ends its use.
                guard try await !isUsed() else { return }
                try await body(stored)
            }
        }
    }

    /// Removes a registration, unless another one has replaced it.
    package func remove(_ registration: ClientRegistration) async throws(AccountError) {
        try await AccountError.wrappingErrors {
            try await storage.withTransaction(timeout: .seconds(10)) { transaction in
                let (stored, revision) = try await stored(at: registration.issuer, in: transaction)
                guard let revision, stored?.clientID == registration.clientID else { return }
                _ = try await transaction.remove(Self.entry(of: registration.issuer), ifRevision: revision)
            }
        }
    }

    /// A registration that cannot be opened is worth nothing, so a new one replaces it.
    private func stored(
        at issuer: String, in transaction: (any ArchiveTransaction)? = nil
    ) async throws -> (registration: ClientRegistration?, revision: ArchiveRevision?) {
        let records = records(of: issuer, in: transaction)
        guard let stored = try await records.stored(Self.entry(of: issuer)) else { return (nil, nil) }
        do {
            let registration = try await records.open(stored.bytes).payload
            return (registration.issuer == issuer ? registration : nil, stored.revision)
        } catch let error as AccountError where error.isAboutContent {
            vault.logger?.notice("a registration does not open, and is replaced", metadata: ["error": "\(error)"])
            return (nil, stored.revision)
        }
    }
}

/// The use of a registration by a sign-in that has not yet stored its session, or the removal of the registration.
package final class RegistrationUse: Sendable {
    private let lock: Mutex<FileLock?>

    init(_ lock: consuming FileLock?) { self.lock = Mutex(lock) }

    package func end() { lock.withLock { $0 = nil } }
}
