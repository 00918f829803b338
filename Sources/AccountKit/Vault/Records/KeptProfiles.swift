import AccountSupport

/// The profiles of users whose session ended without their own sign-out, encrypted beside the account.
///
/// The profile contains the app's own fields, such as settings, which the service cannot send again. The next sign-in of
/// the same user restores them. If there are more users than entries, the oldest profile is replaced.
typealias KeptProfiles = SealedRecords<KeptProfile>

extension KeptProfiles {
    init(vault: Vault, in transaction: (any ArchiveTransaction)? = nil) {
        self.init(
            at: ArchiveEntry.keptProfiles, purpose: "profile", name: "the profile of another user", vault: vault,
            in: transaction)
    }

    /// Stores the profile of a user whose account is about to be removed or replaced. The caller has loaded the account
    /// in this transaction.
    ///
    /// - Returns: The entry; `nil` if the profile has no fields.
    func keep(_ user: Account) async throws -> ArchiveEntry? {
        guard !user.profile.fields.isEmpty else { return nil }
        let found = await readable()
        var place = found.first { $0.payload.owner == user.owner }.map { ($0.entry, Optional($0.revision)) }
        for free in entries where place == nil {
            if try await stored(free) == nil { place = (free, nil) }
        }
        let oldest = found.min { $0.payload.keptAt < $1.payload.keptAt }
        guard let (entry, revision) = place ?? oldest.map({ ($0.entry, $0.revision) }) else {
            throw AccountError(
                .inaccessible, "\(entries.count) profiles of other users are stored, and none of them can be opened")
        }
        try await write(KeptProfile(of: user, at: vault.clock.now), to: entry, ifRevision: revision)
        return entry
    }

    /// Returns the stored profile of a user; `nil` if there is none, or if it cannot be opened now.
    func profile(of user: Account) async -> UserProfile? {
        await readable().first { $0.payload.owner == user.owner }?.payload.profile
    }

    func remove(of user: Account) async throws {
        for found in await readable() where found.payload.owner == user.owner { try await remove(found) }
    }
}

struct KeptProfile: Sendable {
    let owner: AccountOwner
    let profile: UserProfile

    /// The date when the session ended.
    let keptAt: Date

    init(of user: Account, at date: Date) {
        owner = user.owner
        profile = user.profile
        keptAt = date
    }
}

extension KeptProfile: SealedPayload {
    static var sealedName: String { "a profile" }

    var sealedRecord: [String: ProfileValue] {
        var record: [String: ProfileValue] = [
            "id": .string(owner.id), "tokenType": .string("profile"), "issuedAt": .date(keptAt),
            "profile": .dictionary(profile.fields),
        ]
        record["issuer"] = owner.issuer.map { .string($0) }
        return record
    }

    var sealedSecrets: [SealedSecret] { [] }

    init(record: [String: ProfileValue], secrets: [SealedSecret]) throws(RecordPropertyList.Malformed) {
        guard let userID = try record.text("id"), try record.text("tokenType") == "profile",
            let keptAt = try record.date("issuedAt")
        else { throw RecordPropertyList.unusable }
        owner = AccountOwner(id: userID, issuer: try record.text("issuer"))
        self.keptAt = keptAt
        profile = UserProfile(try record.dictionary("profile") ?? [:])
    }
}
