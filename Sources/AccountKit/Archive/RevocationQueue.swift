import Sealing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Sign-outs that a service has not been told of yet: the tokens, sealed, until it has.
///
/// Each is an archive of its own beside the account's, with the account's keys, so that no key is asked for to sign out; and
/// sealed for a context that is no session's, so that nobody can sign a user in again by renaming one. There are at most eight, and none is older than 30 days: by then most tokens have
/// expired, and the oldest ones make room first.
struct RevocationQueue: Sendable {
    /// A sign-out that is to be told.
    struct Pending: Sendable {
        let entry: ArchiveEntry
        let revision: ArchiveRevision

        /// Whose it is, without name and profile; `verifiedAt` is when the user signed out.
        let account: Account
    }

    static let maximumCount = 8
    static let maximumAge: TimeInterval = 30 * 24 * 3600

    private static let entries = (1...maximumCount).map { ArchiveEntry(rawValue: "Revocation-\($0).plist") }

    private let archive: AccountArchive
    private let context: SealingContext
    private var storage: any ArchiveStorage { archive.storage }

    init(archive: AccountArchive, appIdentifier: String, session: SessionName) {
        self.archive = archive
        // No session has a slash in its name.
        context = SealingContext(appIdentifier: appIdentifier, sessionName: session.rawValue + "/revocations")
    }

    /// Puts a sign-out into the queue, for whoever holds the lock.
    func add(_ account: Account, at date: Date, in transaction: any ArchiveTransaction) async throws {
        var place: (entry: ArchiveEntry, revision: ArchiveRevision?, date: Date)?
        for entry in Self.entries {
            let found: StoredEntry?
            do {
                found = try await transaction.read(entry)
            } catch {
                // What cannot be read cannot be replaced either; there are other places.
                continue
            }
            guard let stored = found else {
                place = (entry, nil, date)
                break
            }
            // One that does not open can be of no use any more, so it goes first.
            let age = (try? await open(stored.bytes))?.verifiedAt ?? .distantPast
            if place == nil || age < place!.date { place = (entry, stored.revision, age) }
        }
        guard let place else { throw AccountError(.inaccessible, "the queue of sign-outs cannot be written") }
        let remains = Account(
            id: account.id, issuer: account.issuer, credentials: account.credentials, verifiedAt: date)
        let bytes = try archive.seal(remains, context: context)
        _ = try await transaction.replace(place.entry, with: bytes, ifRevision: place.revision)
    }

    /// Takes a sign-out that did not happen out of the queue again, for whoever holds the lock.
    ///
    /// What cannot be read, or does not open with the keys of this account, will not be told to a service by it, and is left
    /// where it is.
    func withdraw(_ account: Account, in transaction: any ArchiveTransaction) async throws {
        for entry in Self.entries {
            guard let stored = try? await transaction.read(entry) else { continue }
            guard let queued = try? await open(stored.bytes), queued.sharesTokens(with: account) else { continue }
            _ = try await transaction.remove(entry, ifRevision: stored.revision)
        }
    }

    /// What is in the queue and opens, without a lock: a sign-out that is just under way may be among it.
    func pending() async throws -> [Pending] {
        try await pending { try await storage.read($0) }
    }

    /// What is in the queue and opens, for whoever holds the lock.
    func pending(in transaction: any ArchiveTransaction) async throws -> [Pending] {
        try await pending { try await transaction.read($0) }
    }

    private func pending(_ read: (ArchiveEntry) async throws -> StoredEntry?) async throws -> [Pending] {
        var pending: [Pending] = []
        for entry in Self.entries {
            guard let stored = try? await read(entry), let account = try? await open(stored.bytes) else {
                continue
            }
            pending.append(Pending(entry: entry, revision: stored.revision, account: account))
        }
        return pending
    }

    /// Takes those out of the queue that the service has been told of.
    func remove(_ delivered: [Pending], patience: Duration) async throws {
        guard !delivered.isEmpty else { return }
        let transaction = try await storage.beginTransaction(patience: patience)
        for pending in delivered {
            // Another process may have been faster.
            _ = try? await transaction.remove(pending.entry, ifRevision: pending.revision)
        }
        await transaction.end()
    }

    /// Seals what is in the queue with other keys of the account, and leaves what does not open.
    ///
    /// - Throws: If something cannot be read now: with the old key it would be lost.
    func reseal(
        with keys: ArchiveKeys, before: ArchiveKeys, in transaction: any ArchiveTransaction
    ) async throws {
        for entry in Self.entries {
            guard let stored = try await transaction.read(entry) else { continue }
            let account: Account
            do {
                account = try await archive.openAside(stored.bytes, context: context, before: before)
            } catch let error as AccountError where !error.isAboutContent {
                throw error
            } catch {
                continue
            }
            let bytes = try archive.seal(account, keys: keys, context: context)
            let receipt = try await transaction.replace(entry, with: bytes, ifRevision: stored.revision)
            if case .unknown(let reason) = receipt.durability {
                throw AccountError(
                    .durabilityUnknown,
                    "the disk does not confirm that what is still to be told to the service survives a power cut (\(reason)): "
                        + "the keys from before were kept; repeat it when the disk is well")
            }
        }
    }

    private func open(_ bytes: [UInt8]) async throws -> Account {
        try await archive.openAside(bytes, context: context)
    }
}
