import AccountSupport

/// The encrypted tokens that the service has not revoked yet: tokens of sign-outs, of replaced sign-ins, and of
/// exchanges whose result was not stored. A ninth entry replaces the oldest entry. AccountKit removes an entry 30 days
/// after the first attempt to deliver it, since most tokens have expired by then.
typealias RevocationQueue = SealedRecords<QueuedRevocation>

extension RevocationQueue {
    init(vault: Vault, in transaction: (any ArchiveTransaction)? = nil) {
        self.init(
            at: ArchiveEntry.revocations, purpose: "revocations", name: "the queue of pending revocations",
            vault: vault, in: transaction, sharedPlace: vault.storage.sharedPlace)
    }

    @discardableResult
    func add(_ account: Account, waitsForSignOut: Bool = false) async throws -> Record {
        let date = vault.clock.now
        var place: (entry: ArchiveEntry, revision: ArchiveRevision?, date: Date)?
        for entry in entries {
            let found: StoredEntry?
            do {
                found = try await self.stored(entry)
            } catch {
                // An entry that cannot be read cannot be replaced either.
                continue
            }
            guard let stored = found else {
                // A later place may contain the same tokens. Searching it would cost requests on shared storage, and
                // revoking tokens twice does no harm.
                place = (entry, nil, date)
                break
            }
            let queued = (try? await open(stored.bytes))?.payload
            if let queued, queued.account.isSameUser(as: account), queued.account.credentials == account.credentials {
                // A process queued these tokens, and died before it removed the account.
                place = (entry, stored.revision, date)
                break
            }
            // Replace an entry that does not open first. On shared storage, replace such an entry last, since another
            // machine may be able to open it.
            let unreadable = vault.isShared ? date : .distantPast
            let age = queued?.date ?? unreadable
            if place == nil || age < place!.date { place = (entry, stored.revision, age) }
        }
        guard let place else { throw AccountError(.inaccessible, "the queue of revocations cannot be written") }
        return try await write(
            QueuedRevocation(of: account, waitsForSignOut: waitsForSignOut, at: date), to: place.entry,
            ifRevision: place.revision)
    }

    /// Releases the entries that wait for the sign-out of `account`, so that they can be delivered. An entry that
    /// cannot be changed continues to wait.
    func release(beside account: Account) async {
        for var pending in await readable()
        where pending.payload.waitsForSignOut
            && account.isEnded(byRevoking: pending.payload.account, supportsPerGrantRevocation: false)
        {
            pending.payload.release()
            try? await update(pending)
        }
    }

    func update(_ pending: Record) async throws {
        // Use the keys of the entry again: otherwise AccountKit would ask the user for a passphrase.
        try await write(pending.payload, to: pending.entry, ifRevision: pending.revision, with: pending.keys)
    }

    /// Removes from the queue the tokens of an account that stays signed in. Requires the lock. Entries that do not
    /// open stay.
    func withdraw(_ account: Account) async throws {
        for queued in await readable() where queued.payload.account.sharesTokens(with: account) {
            try await remove(queued)
        }
    }

    /// Returns whether a revocation needs the client of an account. Assumes so for an entry that does not open. A
    /// revocation that the service has refused probably never succeeds, so it needs no client.
    func needsClient(of account: Account) async throws -> Bool {
        for entry in entries {
            guard let stored = try await stored(entry) else { continue }
            // An entry that does not open may need the client. If the client stays registered, no session is lost.
            guard let queued = try? await open(stored.bytes).payload else { return true }
            if queued.refusalCount == 0, queued.account.usesSameClient(as: account) { return true }
        }
        return false
    }
}

extension AppContainer {
    /// The index of the sessions that have queued revocations, in `Documents/Revocations`.
    package var revocationIndex: SessionIndex { SessionIndex(ArchiveEntry.revocations, at: revocationsPath, in: self) }
}

extension FileArchiveStorage {
    /// Creates the storage of a session in a container.
    package init(container: AppContainer, session: SessionName = .default) {
        self.init(container: container, session: session, index: container.revocationIndex)
    }
}

/// Tokens that the service has not revoked yet, and the progress of their revocation.
struct QueuedRevocation: Sendable {
    static let maximumRefusalCount = 3
    static let maximumAge: TimeInterval = 30 * 24 * 3600

    /// The account of the tokens, without user name and profile.
    let account: Account

    /// The date when the tokens were queued; after a failed attempt to deliver them, the date when the first attempt
    /// failed.
    var date: Date

    /// Whether the entry waits until the user signs out. The entry waits if the same user has signed in again, at a
    /// service that may end all sign-ins of a user when it revokes the tokens of one sign-in.
    var waitsForSignOut: Bool

    var attemptCount = 0
    var refusalCount = 0

    var nextTry: Date?

    init(of account: Account, waitsForSignOut: Bool = false, at date: Date) {
        self.account = Account(id: account.id, issuer: account.issuer, credentials: account.credentials)
        self.waitsForSignOut = waitsForSignOut
        self.date = date
    }

    /// Records a failed attempt. A pause of one minute follows, which doubles each time, up to a day. There is no pause
    /// after the first attempt if the service did not refuse it.
    mutating func fail(isRefusal: Bool, at date: Date) {
        if attemptCount == 0 { self.date = date }
        attemptCount = min(attemptCount + 1, 1000)
        if isRefusal { refusalCount += 1 }
        let pause = BackOff(first: 60, longest: 86_400).pause(after: attemptCount)
        nextTry = attemptCount == 1 && !isRefusal ? nil : date.addingTimeInterval(pause)
    }

    /// Returns whether the next attempt is due. If its date is more than a day ahead, the clock was set back, and the
    /// attempt is due.
    func isDue(at date: Date) -> Bool {
        guard let nextTry else { return true }
        return !(0...86_400 ~= nextTry.timeIntervalSince(date)) || nextTry <= date
    }

    mutating func release() {
        waitsForSignOut = false
        attemptCount = 0
        nextTry = nil
    }
}

/// The record has the layout of an account's record, with the progress in the profile.
extension QueuedRevocation: SealedPayload {
    static var sealedName: String { "a queued revocation" }

    var sealedRecord: [String: ProfileValue] {
        var stored = account
        stored.verifiedAt = date
        if waitsForSignOut { stored.profile["waitsForSignOut"] = .boolean(true) }
        if attemptCount > 0 { stored.profile["attempts"] = .integer(Int64(attemptCount)) }
        if refusalCount > 0 { stored.profile["refusals"] = .integer(Int64(refusalCount)) }
        stored.profile["nextTry"] = nextTry.map { .date($0) }
        return stored.sealedRecord
    }

    var sealedSecrets: [SealedSecret] { account.sealedSecrets }

    init(record: [String: ProfileValue], secrets: [SealedSecret]) throws(RecordPropertyList.Malformed) {
        let stored = try Account(record: record, secrets: secrets)
        let progress = stored.profile
        self.init(
            of: stored, waitsForSignOut: progress["waitsForSignOut"] == .boolean(true),
            at: stored.verifiedAt ?? .distantPast)
        attemptCount = progress.count("attempts")
        refusalCount = progress.count("refusals")
        if case .date(let date)? = progress["nextTry"] { nextTry = date }
    }
}

extension UserProfile {
    fileprivate func count(_ name: String) -> Int {
        if case .integer(let count)? = self[name] { Int(clamping: count) } else { 0 }
    }
}
