import Logging
import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A session during its move to a storage: the encrypted account and the encrypted keys of offline data. The entry is
/// separate from the account, so that no program uses the incoming session as the session of that storage.
struct IncomingSession: Codable, Sendable {
    private(set) var account: Data
    private(set) var offlineKeys: [Data]

    init(account: [UInt8], offlineKeys: [[UInt8]]) {
        self.account = Data(account)
        self.offlineKeys = offlineKeys.map { Data($0) }
    }

    func encode() throws(AccountError) -> [UInt8] {
        let bytes = try PropertyListEncoder.binary.bytes(of: self, failure: "the session cannot be copied")
        guard bytes.count <= ArchivePropertyList.maximumByteCount else {
            throw AccountError(
                .tooLarge,
                "the account is too large to move, and was not moved: store less in its profile, then try again"
            )
        }
        return bytes
    }

    static func decode(_ bytes: [UInt8]) throws(AccountError) -> IncomingSession {
        do {
            return try PropertyListDecoder().decode(IncomingSession.self, from: Data(bytes))
        } catch {
            throw AccountError(.damaged, "the copy of an incoming session is damaged", cause: error)
        }
    }
}

extension AccountArchive {
    struct Incoming: Sendable {
        let session: IncomingSession
        let account: Account
        let transfer: SessionTransfer
        let revision: ArchiveRevision
    }

    /// Returns the incoming session; `nil` if there is none. `keys` are the keys of the other storage, which may open
    /// the session. Under the lock, `isInteractive` must be `false`.
    func incoming(
        knowing keys: ArchiveKeys? = nil, isInteractive: Bool = false,
        _ read: (ArchiveEntry) async throws -> StoredEntry?
    ) async throws -> Incoming? {
        guard let stored = try await read(.incoming) else { return nil }
        let session = try IncomingSession.decode(stored.bytes)
        let envelope = try codec.envelope(in: [UInt8](session.account))
        let account: Account = try codec.open(
            envelope, with: try await keysBeside(of: envelope, before: keys, isInteractive: isInteractive))
        guard let transfer = account.transfer, transfer.role == .arrived else {
            throw AccountError(.damaged, "the copy of an incoming session is damaged")
        }
        return Incoming(session: session, account: account, transfer: transfer, revision: stored.revision)
    }

    /// Returns whether the structure of a copy is damaged, so that no key opens it.
    func isDamagedIncoming(_ bytes: [UInt8]) -> Bool {
        do {
            return codec.isDamaged([UInt8](try IncomingSession.decode(bytes).account))
        } catch {
            return true
        }
    }

    /// Returns the incoming session, for a caller that ends the session or has no session. A copy that does not open is
    /// moved aside, so that it prevents neither a sign-in nor a sign-out.
    func incomingOrQuarantine(in transaction: any ArchiveTransaction) async throws -> Incoming? {
        do {
            return try await incoming { try await transaction.read($0) }
        } catch let reason as AccountError where reason.code != .cancelled {
            do {
                try await transaction.quarantineLeftover(.incoming, because: reason, logger)
            } catch  where reason.isAboutContent {
                // The copy stays, and cannot become a session.
                logger?.warning("an incoming session cannot be moved aside", metadata: ["error": "\(error)"])
            }
            return nil
        }
    }
}

extension SessionDriver {
    /// Removes the remains of the move that transferred a session to this storage, so that the session cannot be
    /// restored after its end.
    func discardLeftover(of account: Account, in transaction: any ArchiveTransaction) async throws {
        guard let transfer = account.transfer, transfer.role == .arrived else { return }
        guard let incoming = try await archive.incomingOrQuarantine(in: transaction) else { return }
        if incoming.transfer.id == transfer.id { try await transaction.discard(.incoming) }
    }
}
