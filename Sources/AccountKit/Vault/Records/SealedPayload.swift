import AccountSupport

/// A value that an archive stores: a record, and secrets, which stay in guarded memory.
///
/// The record is a dictionary instead of an `Encodable` type, so that AccountKit can read it directly from the
/// plaintext. In addition, if a type contained a secret by mistake, an encoder would copy the secret to ordinary
/// memory.
protocol SealedPayload: Sendable {
    /// The name of the value in messages, such as "an account".
    static var sealedName: String { get }

    /// The fields of the value, except the secrets. Each field is copied to ordinary memory.
    var sealedRecord: [String: ProfileValue] { get }

    var sealedSecrets: [SealedSecret] { get }

    /// Creates a value from a record and its secrets. Ignores unknown fields. Throws an error if a required field or
    /// secret is missing, or has another type.
    init(record: [String: ProfileValue], secrets: [SealedSecret]) throws(RecordPropertyList.Malformed)
}

struct SealedSecret: Sendable {
    enum Tag: UInt16, Sendable {
        case accessToken = 1
        case refreshToken = 2
        case idToken = 3
        case derivedToken = 4
        case clientSecret = 5
        case proofKey = 6
    }

    let tag: Tag
    let secret: Secret

    init(_ tag: Tag, _ secret: Secret) {
        self.tag = tag
        self.secret = secret
    }
}

/// The fields of a stored record. A missing field is `nil`; a field of another type is an error.
extension [String: ProfileValue] {
    func text(_ name: String) throws(RecordPropertyList.Malformed) -> String? {
        try entry(name) { if case .string(let text) = $0 { text } else { nil } }
    }

    func date(_ name: String) throws(RecordPropertyList.Malformed) -> Date? {
        try entry(name) { if case .date(let date) = $0 { date } else { nil } }
    }

    func number(_ name: String) throws(RecordPropertyList.Malformed) -> Int? {
        try entry(name) { if case .integer(let number) = $0 { Int(exactly: number) } else { nil } }
    }

    func flag(_ name: String) throws(RecordPropertyList.Malformed) -> Bool {
        try entry(name) { if case .boolean(let flag) = $0 { flag } else { nil } } ?? false
    }

    func texts(_ name: String) throws(RecordPropertyList.Malformed) -> [String]? {
        try entry(name) { value in
            guard case .array(let values) = value else { return nil }
            let texts = values.compactMap { if case .string(let text) = $0 { text } else { nil } }
            return texts.count == values.count ? texts : nil
        }
    }

    func dictionary(_ name: String) throws(RecordPropertyList.Malformed) -> [String: ProfileValue]? {
        try entry(name) { if case .dictionary(let fields) = $0 { fields } else { nil } }
    }

    private func entry<Entry>(
        _ name: String, _ value: (ProfileValue) -> Entry?
    ) throws(RecordPropertyList.Malformed) -> Entry? {
        guard let entry = self[name] else { return nil }
        guard let value = value(entry) else { throw RecordPropertyList.unusable }
        return value
    }
}
