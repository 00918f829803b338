#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct StoredOfflineKey: Sendable {
    let owner: AccountOwner

    /// The key: 32 random bytes.
    private(set) var key: Secret

    let createdAt: Date

    /// Whether the user is signing out. The key is removed with the account or, after a crash, at the next sign-in.
    var isSigningOut = false

    init(_ key: Secret, of user: Account, createdAt: Date) {
        owner = user.owner
        self.key = key
        self.createdAt = createdAt
    }

    func isSame(as other: StoredOfflineKey) -> Bool { owner == other.owner && key == other.key }
}

/// The record has the layout of an account's record, and the key has the tag of an access token.
extension StoredOfflineKey: SealedPayload {
    private enum Field {
        static let userID = "id"
        static let issuer = "issuer"
        static let createdAt = "issuedAt"
        static let kind = "tokenType"
        static let marks = "profile"
        static let isSigningOut = "isSigningOut"
    }

    private static let kind = "offline"

    static var sealedName: String { "a key of offline data" }

    var sealedRecord: [String: ProfileValue] {
        var record: [String: ProfileValue] = [
            Field.userID: .string(owner.id), Field.kind: .string(Self.kind), Field.createdAt: .date(createdAt),
        ]
        record[Field.issuer] = owner.issuer.map { .string($0) }
        if isSigningOut { record[Field.marks] = .dictionary([Field.isSigningOut: .boolean(true)]) }
        return record
    }

    var sealedSecrets: [SealedSecret] {
        get { [SealedSecret(.accessToken, key)] }
        set { if let sealed = newValue.first { key = sealed.secret } }
    }

    init(record: [String: ProfileValue], secrets: [SealedSecret]) throws(RecordPropertyList.Malformed) {
        guard secrets.count == 1, secrets[0].tag == .accessToken, let userID = try record.text(Field.userID),
            try record.text(Field.kind) == Self.kind, let createdAt = try record.date(Field.createdAt)
        else { throw RecordPropertyList.unusable }
        owner = AccountOwner(id: userID, issuer: try record.text(Field.issuer))
        self.createdAt = createdAt
        key = secrets[0].secret
        isSigningOut = try record.dictionary(Field.marks)?[Field.isSigningOut] != nil
    }
}
