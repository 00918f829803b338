import AccountCrypto
import Logging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Moving a session to another storage; see ``SessionTransport``.
extension AccountStore {
    /// Moves the session to the storage of another store, for example from files to a cluster.
    ///
    /// The account stays in this storage without its refresh token. Programs get the access token until the token
    /// expires. Then they get the error ``AccountError/Code-swift.struct/moved``, which names the target. The keys and
    /// key slots of the archive and the keys of offline data move with the session. The revocation queue stays in this
    /// storage; see ``deliverRevocations(with:)``.
    ///
    /// If the move fails or the process dies, call the function again to continue the move. At any time, at most one
    /// copy of the session can be refreshed. If the session is already at the target, the function changes nothing.
    ///
    /// - Parameters:
    ///   - target: The store to move to, for the same app and session, with keys that open this store's archive. No
    ///     user may be signed in at the target.
    ///   - targetName: The name of the target in messages of this store.
    ///   - sourceName: The name of this store's storage in messages at the target.
    /// - Returns: The account at the target.
    /// - Throws: ``AccountError/Code-swift.struct/conflict`` if a user is signed in at the target, or if another
    ///   process changed the session during the move; ``AccountError/Code-swift.struct/busy`` while a refresh is
    ///   unfinished; ``AccountError/Code-swift.struct/moved`` if the session was already moved to another storage;
    ///   ``AccountError/Code-swift.struct/notSignedIn`` if no user is signed in; other errors of reading and writing
    ///   the two storages.
    @discardableResult
    package func moveSession(
        to target: AccountStore, named targetName: String, from sourceName: String
    ) async throws(AccountError) -> Account {
        try refuseGivenToken()
        try target.refuseGivenToken()
        guard targetName != sourceName else {
            throw AccountError(.invalidArgument, "the session is already at that place", hint: "specify another place")
        }
        guard driver.archive.codec.context.isSameSession(as: target.driver.archive.codec.context) else {
            throw AccountError(
                .invalidArgument, "a session can be moved only to another place of the same app and session")
        }
        // Ask for a passphrase before acquiring the lock, so that other processes do not wait for the user.
        _ = await driver.load()
        _ = await target.driver.load()
        return try await AccountError.wrappingErrors {
            try await driver.archive.storage.withRefreshLease(timeout: driver.lockTimeout) { lease in
                try await SessionTransport(
                    source: driver, target: target.driver, sourceName: sourceName, targetName: targetName, lease: lease
                ).run()
            }
        }
    }

    /// Returns the incomplete move to this storage; `nil` if there is none. Throws an error if the incoming session
    /// cannot be opened.
    package func incomingMove(isInteractive: Bool = false) async throws -> SessionMove? {
        guard givenToken == nil else { return nil }
        let incoming = try await driver.archive.incoming(isInteractive: isInteractive) {
            try await driver.archive.storage.read($0)
        }
        return incoming.map { SessionMove($0.transfer, isComplete: false) }
    }

    /// Discards an incomplete move to this storage when the user signs out. Moves aside a copy that cannot be opened.
    func discardIncoming() async throws(AccountError) {
        var copy: [UInt8]?
        do {
            // In the usual case, do not acquire the lock.
            guard let stored = try await driver.archive.storage.read(.incoming) else { return }
            copy = stored.bytes
        } catch {
            driver.logger?.debug("an incoming session cannot be read", metadata: ["error": "\(error)"])
        }
        // The copy may be the only copy of the session, and another machine may have its key.
        if driver.keepsUnreadable, let copy, !driver.archive.isDamagedIncoming(copy) {
            _ = try await AccountError.wrappingErrors { try await incomingMove(isInteractive: true) }
        }
        try await driver.withTransaction { transaction in
            guard case .absent = await driver.archive.load(in: transaction) else { return }
            guard try await driver.archive.incomingOrQuarantine(in: transaction) != nil else { return }
            try await transaction.discard(.incoming)
        }
    }
}
