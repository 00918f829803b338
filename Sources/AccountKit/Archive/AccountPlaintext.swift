import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The plaintext of an archive: a section with the secrets, then a section with everything else.
///
/// Both begin with their length in four bytes. The secrets section has one entry for each token: two bytes for its tag, two zero bytes, the
/// length in four bytes, the token. The other section is a binary property list. It contains the purposes of the derived tokens in the
/// order of their entries. A plaintext is decrypted into guarded memory, where the tokens of the account stay and the second section is
/// read.
enum AccountPlaintext {
    private enum SecretTag: UInt16 {
        case accessToken = 1
        case refreshToken = 2
        case idToken = 3
        case derivedToken = 4
        case clientSecret = 5
    }

    /// Encodes the second section, which has no secrets.
    private static func record(of account: Account) throws(AccountError) -> [UInt8] {
        let credentials = account.credentials
        var fields = [String: ProfileValue](minimumCapacity: 10)
        fields["id"] = .string(account.id)
        fields["tokenType"] = .string(credentials.tokenType)
        fields["issuedAt"] = .date(credentials.issuedAt)
        fields["issuer"] = account.issuer.map { .string($0) }
        fields["username"] = account.username.map { .string($0) }
        fields["clientID"] = credentials.clientID.map { .string($0) }
        if credentials.clientSecret == .none { fields["isPublicClient"] = .boolean(true) }
        fields["clientAuthentication"] = credentials.clientAuthentication.map { .string($0) }
        if credentials.isWithheld { fields["isWithheld"] = .boolean(true) }
        for (name, scopes) in [("scopes", credentials.scopes), ("signInScopes", credentials.signInScopes)]
        where !scopes.isEmpty {
            fields[name] = .array(scopes.map { .string($0) })
        }
        fields["expiresAt"] = credentials.expiresAt.map { .date($0) }
        fields["verifiedAt"] = account.verifiedAt.map { .date($0) }
        if !account.profile.fields.isEmpty { fields["profile"] = .dictionary(account.profile.fields) }
        if let transfer = account.transfer {
            fields["transfer"] = .dictionary([
                "id": .string(transfer.id), "place": .string(transfer.place), "date": .date(transfer.date),
                "role": .string(transfer.role.rawValue),
            ])
        }
        if !credentials.derivedTokens.isEmpty {
            fields["derivedTokens"] = .array(credentials.derivedTokens.map { .dictionary(record(of: $0)) })
        }
        do {
            return try RecordPropertyListWriter.write(fields)
        } catch {
            throw AccountError(
                .invalidArgument,
                "the profile is nested more than \(RecordPropertyList.maximumDepth) values deep, which an archive does not hold"
            )
        }
    }

    private static func record(of derived: DerivedToken) -> [String: ProfileValue] {
        let (target, credentials) = (derived.target, derived.credentials)
        var fields: [String: ProfileValue] = [
            "tokenType": .string(credentials.tokenType), "issuedAt": .date(credentials.issuedAt),
        ]
        fields["expiresAt"] = credentials.expiresAt.map { .date($0) }
        fields["audience"] = target.audience.map { .string($0) }
        for (name, texts) in [
            ("resources", target.resources), ("requestedScopes", target.scopes), ("scopes", credentials.scopes),
        ] where !texts.isEmpty {
            fields[name] = .array(texts.map { .string($0) })
        }
        return fields
    }

    private static func derivedTokens(
        _ fields: [String: ProfileValue], _ secrets: [Secret]
    ) throws(RecordPropertyList.Malformed) -> [DerivedToken] {
        var records: [ProfileValue] = []
        switch fields["derivedTokens"] {
        case .array(let values)?: records = values
        case nil: break
        default: throw RecordPropertyList.unusable
        }
        guard records.count == secrets.count else { throw RecordPropertyList.unusable }
        var tokens: [DerivedToken] = []
        for (record, secret) in zip(records, secrets) {
            guard case .dictionary(let fields) = record, let tokenType = try fields.text("tokenType"),
                let issuedAt = try fields.date("issuedAt")
            else { throw RecordPropertyList.unusable }
            let target = TokenTarget(
                stored: try fields.text("audience"), try fields.texts("resources") ?? [],
                try fields.texts("requestedScopes") ?? [])
            let credentials = Credentials(
                accessToken: secret, tokenType: tokenType, scopes: try fields.texts("scopes") ?? [],
                issuedAt: issuedAt, expiresAt: try fields.date("expiresAt"))
            tokens.append(DerivedToken(target: target, credentials: credentials))
        }
        return tokens
    }

    /// Creates an account from entries and tokens. Unknown entries are ignored.
    private static func account(
        _ fields: [String: ProfileValue], accessToken: Secret, refreshToken: Secret?, idToken: Secret?,
        derived: [Secret], clientSecret: Secret?
    ) throws(RecordPropertyList.Malformed) -> Account {
        guard let id = try fields.text("id"), let tokenType = try fields.text("tokenType"),
            let issuedAt = try fields.date("issuedAt")
        else { throw RecordPropertyList.unusable }
        let profile: UserProfile
        switch fields["profile"] {
        case .dictionary(let fields)?: profile = UserProfile(fields)
        case nil: profile = UserProfile()
        default: throw RecordPropertyList.unusable
        }
        var credentials = Credentials(
            accessToken: accessToken, refreshToken: refreshToken, idToken: idToken, tokenType: tokenType,
            scopes: try fields.texts("scopes") ?? [], clientID: try fields.text("clientID"), issuedAt: issuedAt,
            expiresAt: try fields.date("expiresAt"))
        credentials.derivedTokens = try derivedTokens(fields, derived)
        if let clientSecret {
            credentials.clientSecret = .secret(clientSecret)
        } else if try fields.flag("isPublicClient") {
            credentials.clientSecret = .none
        }
        credentials.clientAuthentication = try fields.text("clientAuthentication")
        credentials.signInScopes = try fields.texts("signInScopes") ?? []
        credentials.isWithheld = try fields.flag("isWithheld")
        var account = Account(
            id: id, issuer: try fields.text("issuer"), username: try fields.text("username"), credentials: credentials,
            profile: profile, verifiedAt: try fields.date("verifiedAt"))
        account.transfer = try transfer(fields)
        return account
    }

    private static func transfer(
        _ fields: [String: ProfileValue]
    ) throws(RecordPropertyList.Malformed) -> SessionTransfer? {
        guard let value = fields["transfer"] else { return nil }
        guard case .dictionary(let fields) = value, let id = try fields.text("id"),
            let place = try fields.text("place"), let date = try fields.date("date"),
            let role = try fields.text("role").flatMap(SessionTransfer.Role.init(rawValue:))
        else { throw RecordPropertyList.unusable }
        return SessionTransfer(id: id, place: place, date: date, role: role)
    }

    /// Encodes an account into guarded memory, with padding.
    ///
    /// - Returns: The plaintext, and the account whose tokens are in the same memory.
    static func encode(_ account: Account) throws(AccountError) -> (plaintext: GuardedBytes, account: Account) {
        let credentials = account.credentials
        var secrets = [
            (SecretTag.accessToken, credentials.accessToken as Secret?), (.refreshToken, credentials.refreshToken),
            (.idToken, credentials.idToken),
        ].compactMap { tag, secret in secret.map { (tag, $0) } }
        secrets += credentials.derivedTokens.map { (.derivedToken, $0.credentials.accessToken) }
        if case .secret(let secret) = credentials.clientSecret { secrets.append((.clientSecret, secret)) }
        let record = try record(of: account)
        let secretsCount = secrets.reduce(0) { $0 + 8 + $1.1.byteCount }
        let count = 4 + secretsCount + 4 + record.count

        var ranges: [Range<Int>] = []
        let plaintext = GuardedBytes(count: Envelope.paddedByteCount(count)) { buffer in
            var offset = 0
            let put = { (bytes: UnsafeRawBufferPointer) in
                UnsafeMutableRawBufferPointer(rebasing: buffer[offset...]).copyMemory(from: bytes)
                offset += bytes.count
            }
            let putNumber = { (value: UInt32) in withUnsafeBytes(of: value.littleEndian, put) }
            putNumber(UInt32(secretsCount))
            for (tag, secret) in secrets {
                putNumber(UInt32(tag.rawValue))
                putNumber(UInt32(secret.byteCount))
                ranges.append(offset..<offset + secret.byteCount)
                secret.withUnsafeBytes(put)
            }
            putNumber(UInt32(record.count))
            record.withUnsafeBytes(put)
            Envelope.pad(buffer, count: count)
        }
        var account = account
        var derivedIndex = 0
        for ((tag, _), range) in zip(secrets, ranges) {
            let secret = Secret(plaintext, range: range)
            switch tag {
            case .accessToken: account.credentials.accessToken = secret
            case .refreshToken: account.credentials.refreshToken = secret
            case .idToken: account.credentials.idToken = secret
            case .derivedToken:
                account.credentials.derivedTokens[derivedIndex].credentials.accessToken = secret
                derivedIndex += 1
            case .clientSecret: account.credentials.clientSecret = .secret(secret)
            }
        }
        return (plaintext, account)
    }

    /// Decodes an account whose tokens stay in the same memory.
    ///
    /// - Parameter count: The size of the plaintext in bytes; the rest is padding.
    static func decode(_ plaintext: GuardedBytes, count: Int) throws(AccountError) -> Account {
        // Variables instead of a dictionary: instantiating a dictionary type would take longer than this function.
        var accessToken: Secret?
        var refreshToken: Secret?
        var idToken: Secret?
        var clientSecret: Secret?
        var derived: [Secret] = []
        var reader = Reader(plaintext: plaintext, end: count)
        let secretsEnd = try reader.section()
        while reader.offset < secretsEnd.upperBound {
            let number = try reader.number()
            guard let tag = UInt16(exactly: number).flatMap(SecretTag.init(rawValue:)) else {
                throw AccountError(
                    .unsupportedVersion, "the archive holds a kind of token (\(number)) that this version does not know"
                )
            }
            let secret = Secret(plaintext, range: try reader.section(skip: true))
            switch tag {
            case .accessToken where accessToken == nil: accessToken = secret
            case .refreshToken where refreshToken == nil: refreshToken = secret
            case .idToken where idToken == nil: idToken = secret
            case .derivedToken: derived.append(secret)
            case .clientSecret where clientSecret == nil: clientSecret = secret
            default: throw malformed
            }
        }
        guard reader.offset == secretsEnd.upperBound else { throw malformed }
        let range = try reader.section()
        guard range.upperBound == count else { throw malformed }
        guard let accessToken else { throw malformed }
        do {
            let record = try plaintext.withUnsafeBytes { bytes throws(RecordPropertyList.Malformed) in
                try RecordPropertyList.read(UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
            return try Self.account(
                record, accessToken: accessToken, refreshToken: refreshToken, idToken: idToken, derived: derived,
                clientSecret: clientSecret)
        } catch {
            throw malformed
        }
    }

    private static var malformed: AccountError {
        AccountError(.damaged, "the archive opens, and what is in it is not an account")
    }

    private struct Reader {
        let plaintext: GuardedBytes
        let end: Int
        var offset = 0

        mutating func number() throws(AccountError) -> UInt32 {
            guard end - offset >= 4 else { throw malformed }
            defer { offset += 4 }
            return plaintext.withUnsafeBytes {
                UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            }
        }

        /// Reads the length of a section, and returns its range. The offset is then at its start, or with `skip` after it.
        mutating func section(skip: Bool = false) throws(AccountError) -> Range<Int> {
            let count = Int(clamping: try number())
            guard count <= end - offset else { throw malformed }
            defer { if skip { offset += count } }
            return offset..<offset + count
        }
    }
}

extension [String: ProfileValue] {
    fileprivate func text(_ name: String) throws(RecordPropertyList.Malformed) -> String? {
        try entry(name) { if case .string(let text) = $0 { text } else { nil } }
    }

    fileprivate func date(_ name: String) throws(RecordPropertyList.Malformed) -> Date? {
        try entry(name) { if case .date(let date) = $0 { date } else { nil } }
    }

    /// Returns a flag; `false` if it is missing.
    fileprivate func flag(_ name: String) throws(RecordPropertyList.Malformed) -> Bool {
        try entry(name) { if case .boolean(let flag) = $0 { flag } else { nil } } ?? false
    }

    fileprivate func texts(_ name: String) throws(RecordPropertyList.Malformed) -> [String]? {
        try entry(name) { value in
            guard case .array(let values) = value else { return nil }
            let texts = values.compactMap { if case .string(let text) = $0 { text } else { nil } }
            return texts.count == values.count ? texts : nil
        }
    }

    /// - Returns: `nil` if the entry is missing.
    /// - Throws: An error if the entry has another type.
    private func entry<Entry>(
        _ name: String, _ value: (ProfileValue) -> Entry?
    ) throws(RecordPropertyList.Malformed) -> Entry? {
        guard let entry = self[name] else { return nil }
        guard let value = value(entry) else { throw RecordPropertyList.unusable }
        return value
    }
}
