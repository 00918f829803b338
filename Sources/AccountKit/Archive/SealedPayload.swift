/// A value that an archive stores: a record, and the secrets, which stay in guarded memory. The record is a dictionary
/// instead of an `Encodable` type: AccountKit reads it directly from the plaintext, and an encoder would copy any
/// secret that a type contains by mistake to ordinary memory.
protocol SealedPayload: Sendable {
    /// The value in messages, such as "an account".
    static var sealedName: String { get }

    /// Everything except the secrets. Each field is copied to ordinary memory.
    var sealedRecord: [String: ProfileValue] { get }

    /// In the order of their tags. A new value has the same tags in the same order; only the memory differs.
    var sealedSecrets: [SealedSecret] { get set }

    /// Ignores unknown fields. A required field or secret that is missing or of another type is an error.
    init(record: [String: ProfileValue], secrets: [SealedSecret]) throws(RecordPropertyList.Malformed)
}

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
