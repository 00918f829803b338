/// A value that an archive stores: a record for everything except secrets, and the secrets, which stay in guarded memory.
///
/// The record is a dictionary instead of an `Encodable` type: AccountKit reads it directly from the decrypted plaintext, and an encoder
/// would copy any secret that a type contains by mistake to ordinary memory.
protocol SealedPayload: Sendable {
    /// The value in messages, such as "an account".
    static var sealedName: String { get }

    /// Everything except the secrets. Each field is copied to ordinary memory.
    var sealedRecord: [String: ProfileValue] { get }

    /// The tokens and keys, in the order of their tags. A new value has the same tags in the same order; only the memory differs.
    var sealedSecrets: [SealedSecret] { get set }

    /// Creates a value from a stored record and its secrets. Unknown fields are ignored.
    ///
    /// - Throws: An error if a required field or secret is missing, or if one has another type.
    init(record: [String: ProfileValue], secrets: [SealedSecret]) throws(RecordPropertyList.Malformed)
}

/// A token or key with its tag.
struct SealedSecret: Sendable {
    enum Tag: UInt16, Sendable {
        case accessToken = 1
        case refreshToken = 2
        case idToken = 3
        case derivedToken = 4
        case clientSecret = 5
    }

    let tag: Tag
    let secret: Secret

    init(_ tag: Tag, _ secret: Secret) {
        self.tag = tag
        self.secret = secret
    }
}
