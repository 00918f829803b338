import Foundation
import AccountCrypto
import Testing

@testable import AccountKit

struct AccountPlaintextTests {
    private static let account = Account(
        id: "1", issuer: "https://auth.example.com", username: "alice",
        credentials: Credentials(
            accessToken: Secret("access"), refreshToken: Secret("refresh"), idToken: Secret("id"), scopes: ["openid"],
            clientID: "client", issuedAt: Date(timeIntervalSince1970: 1), expiresAt: Date(timeIntervalSince1970: 2)),
        profile: [
            "name": "Alice", "points": 3, "ratio": 0.5, "email_verified": true, "groups": ["a", "b"],
            "address": ["country": "GB"], "registered_at": .date(Date(timeIntervalSince1970: 3)),
            "picture_hash": .data(Data([1, 2])),
        ], verifiedAt: Date(timeIntervalSince1970: 4))

    /// An account with a token endpoint.
    private static func refreshing(with methods: [String]?) -> Account {
        var account = Self.account
        account.credentials.tokenEndpoint = TokenEndpoint(
            url: "https://auth.example.com/token", authenticationMethods: methods,
            userInfo: methods == nil ? nil : "https://auth.example.com/userinfo",
            expiresAt: Date(timeIntervalSince1970: 5))
        return account
    }

    private static func machine(_ grant: MachineGrant, of subject: String? = nil) -> Account {
        var account = Account(
            id: "nightly",
            credentials: Credentials(accessToken: Secret("access"), issuedAt: Date(timeIntervalSince1970: 0)))
        account.credentials.machine = grant
        account.credentials.machine?.subject = subject
        return account
    }

    private static var exchanged: MachineGrant {
        var grant = MachineGrant(workload: ["github-actions"])
        grant.assertionAudience = "api://exchange"
        return grant
    }

    // MARK: Encoding and decoding

    @Test(arguments: [
        account,
        Account(id: "", credentials: Credentials(accessToken: Secret(""), issuedAt: Date(timeIntervalSince1970: 0))),
        Account(
            id: "2",
            credentials: Credentials(
                accessToken: Secret("a"), idToken: Secret(String(repeating: "b", count: 5000)),
                issuedAt: Date(timeIntervalSince1970: 0.5))),
        Account(
            id: "$null", username: "$$null",
            credentials: Credentials(
                accessToken: Secret("$null"), scopes: ["$null"], issuedAt: Date(timeIntervalSince1970: 0)),
            profile: ["$null": ["$null", ["$$null": "$$$null"]]]),
        machine(MachineGrant()), machine(MachineGrant(scopes: ["read", "write"], audience: "urn:api")),
        machine(MachineGrant(workload: ["file", "/run/token"])), machine(exchanged),
        machine(MachineGrant(workload: ["gitlab"]), of: "project_path:octo/app"),
        refreshing(with: nil), refreshing(with: []), refreshing(with: ["client_secret_post", "client_secret_basic"]),
    ])
    func `Encodes and decodes an account without changes`(account: Account) throws {
        let (plaintext, kept) = try AccountPlaintext.encode(account)
        #expect(kept == account)
        let count = try #require(plaintext.unpaddedCount)
        #expect(try AccountPlaintext.decode(plaintext, count: count) == account)
    }

    @Test func `Stores the grant of a machine's session only`() {
        #expect(Self.account.sealedRecord["machine"] == nil)
        #expect(Self.machine(MachineGrant()).sealedRecord["machine"] == ["grant": "client_credentials"])
    }

    @Test(arguments: [["scopes": ["a"]], "client_credentials", ["grant": "x", "scopes": "a"]] as [ProfileValue])
    func `Refuses an account with a malformed grant`(value: ProfileValue) {
        var record = Self.account.sealedRecord
        record["machine"] = value
        #expect(throws: RecordPropertyList.Malformed.self) {
            try Account(record: record, secrets: Self.account.sealedSecrets)
        }
    }

    @Test func `Writes the secrets first, in the order of their tags`() throws {
        let (plaintext, _) = try AccountPlaintext.encode(Self.account)
        let secrets =
            [39, 0, 0, 0]
            + [1, 0, 0, 0, 6, 0, 0, 0] + Array("access".utf8)
            + [2, 0, 0, 0, 7, 0, 0, 0] + Array("refresh".utf8)
            + [3, 0, 0, 0, 2, 0, 0, 0] + Array("id".utf8)
        let bytes = plaintext.withUnsafeBytes { Array($0) }
        #expect(bytes.starts(with: secrets))
        #expect(bytes.count.isMultiple(of: 512))
        let count = try #require(plaintext.unpaddedCount)
        let record = Array(bytes[secrets.count..<count])
        #expect(record.starts(with: Self.number(UInt32(record.count - 4)) + Array("bplist00".utf8)))
    }

    // MARK: The client secret, and withheld tokens

    @Test(arguments: [ClientSecret.none, .unknown, .secret(Secret("client-secret"))], [false, true])
    func `Encodes and decodes the client secret without changes`(secret: ClientSecret, isWithheld: Bool) throws {
        var account = Self.deriving
        account.credentials.clientSecret = secret
        account.credentials.isOfOtherUser = isWithheld
        account.credentials.isOfUnsupportedType = isWithheld
        let (plaintext, kept) = try AccountPlaintext.encode(account)
        #expect(kept == account)
        let opened = try AccountPlaintext.decode(plaintext, count: try #require(plaintext.unpaddedCount))
        #expect(opened == account)
        #expect(opened.credentials.clientSecret == secret)
        #expect(opened.credentials.isOfOtherUser == isWithheld && opened.credentials.hasWrongType == isWithheld)
        // The client secret is the last of the secrets and not in the record.
        let bytes = plaintext.withUnsafeBytes { Array($0) }
        let entry = [5, 0, 0, 0, 13, 0, 0, 0] + Array("client-secret".utf8)
        let range = bytes.firstRange(of: entry)
        #expect((range != nil) == (secret == .secret(Secret("client-secret"))))
        if let range { #expect(range.upperBound == 4 + Int(bytes[0])) }
    }

    @Test func `Reads an unknown client secret from an archive without one`() throws {
        let (plaintext, _) = try AccountPlaintext.encode(Self.account)
        let opened = try AccountPlaintext.decode(plaintext, count: try #require(plaintext.unpaddedCount))
        #expect(opened.credentials.clientSecret == .unknown)
        #expect(!opened.credentials.isWithheld)
        let bytes = plaintext.withUnsafeBytes { Array($0) }
        for key in ["isPublicClient", "isWithheld", "isOfUnsupportedType"] { #expect(!bytes.contains(key.utf8)) }
    }

    // MARK: The key of the tokens

    @Test func `Stores the key of bound tokens under its own tag`() throws {
        var account = Self.deriving
        account.credentials.clientSecret = .secret(Secret("client-secret"))
        account.credentials.proofKey = Secret("a key of 32 bytes, which is last")
        let (plaintext, kept) = try AccountPlaintext.encode(account)
        #expect(kept == account)
        #expect(try AccountPlaintext.decode(plaintext, count: try #require(plaintext.unpaddedCount)) == account)
        let bytes = plaintext.withUnsafeBytes { Array($0) }
        let entry = [6, 0, 0, 0, 32, 0, 0, 0] + Array("a key of 32 bytes, which is last".utf8)
        let range = try #require(bytes.firstRange(of: entry))
        #expect(range.upperBound == 4 + Int(bytes[0]) + Int(bytes[1]) << 8)
    }

    @Test func `Refuses an account with two keys`() {
        let secrets =
            [SealedSecret(.accessToken, Secret("a"))] + [1, 2].map { SealedSecret(.proofKey, Secret("\($0)")) }
        #expect(throws: RecordPropertyList.Malformed.self) {
            try Account(record: Self.account.sealedRecord, secrets: secrets)
        }
    }

    // MARK: Derived tokens

    private static func derived(_ token: String) -> Credentials {
        Credentials(
            accessToken: Secret(token), scopes: ["read"], issuedAt: Date(timeIntervalSince1970: 5),
            expiresAt: Date(timeIntervalSince1970: 6))
    }

    private static let deriving: Account = {
        var account = Self.account
        for (token, target) in [
            ("first", TokenTarget(stored: nil, ["https://api.example.com/"], ["read", "write"])),
            ("second", TokenTarget(stored: "api", [], [])),
            ("third", TokenTarget(stored: nil, [], ["$null"])),
        ] {
            account.credentials.keep(derived(token), for: target, at: Date(timeIntervalSince1970: 5))
        }
        return account
    }()

    @Test func `Writes no tag and no key for derived tokens without derived tokens`() throws {
        let (plaintext, _) = try AccountPlaintext.encode(GoldenArchive.account)
        let bytes = plaintext.withUnsafeBytes { Array($0) }
        // The secrets of the worked example of the format page, and the following record.
        #expect(bytes.starts(with: [0x4E, 0, 0, 0, 1, 0, 0, 0, 0x13, 0, 0, 0] + Array("golden-access-token".utf8)))
        #expect(bytes[86...].starts(with: "bplist00".utf8))
        #expect(!bytes.contains("derivedTokens".utf8))
    }

    @Test func `Decodes derived tokens unchanged in the memory of the secrets`() throws {
        let (plaintext, kept) = try AccountPlaintext.encode(Self.deriving)
        #expect(kept == Self.deriving)
        #expect(kept.credentials.derivedTokens.count == 3)
        let count = try #require(plaintext.unpaddedCount)
        let opened = try AccountPlaintext.decode(plaintext, count: count)
        #expect(opened == Self.deriving)
        // Only this allocation contains the secrets.
        for account in [kept, opened] {
            for derived in account.credentials.derivedTokens {
                derived.credentials.accessToken.withUnsafeBytes { token in
                    plaintext.withUnsafeBytes { all in
                        #expect(all.baseAddress! <= token.baseAddress! && token.count <= all.count)
                        #expect(token.baseAddress! - all.baseAddress! < all.count)
                    }
                }
            }
        }
    }

    @Test func `Writes derived tokens after the other secrets, not in the record`() throws {
        let (plaintext, _) = try AccountPlaintext.encode(Self.deriving)
        let bytes = plaintext.withUnsafeBytes { Array($0) }
        let secrets =
            [3, 0, 0, 0, 2, 0, 0, 0] + Array("id".utf8)
            + [4, 0, 0, 0, 5, 0, 0, 0] + Array("first".utf8)
            + [4, 0, 0, 0, 6, 0, 0, 0] + Array("second".utf8)
            + [4, 0, 0, 0, 5, 0, 0, 0] + Array("third".utf8)
        let range = try #require(bytes.firstRange(of: secrets))
        #expect(range.lowerBound == 4 + 14 + 15)
        for token in ["first", "second", "third"] { #expect(!bytes[range.upperBound...].contains(token.utf8)) }
    }

    @Test func `Refuses more or fewer derived tokens than the record describes`() throws {
        let record = Self.record
        expect(.damaged, of: Self.section(Self.secret(1) + Self.secret(4)) + Self.section(record))
        let (plaintext, _) = try AccountPlaintext.encode(Self.deriving)
        let whole = plaintext.withUnsafeBytes { Array($0) }
        let count = try #require(plaintext.unpaddedCount)
        let secretsEnd = 4 + Int(whole[0])
        let realRecord = Array(whole[secretsEnd..<count])
        // Use one token more, one less, and a hundred thousand more than in the record.
        let secrets = Array(whole[4..<secretsEnd])
        for changed in [
            secrets + Self.secret(4), Array(secrets.dropLast(13)),
            secrets + Array([[UInt8]](repeating: Self.secret(4), count: 100_000).joined()),
        ] {
            expect(.damaged, of: Self.section(changed) + realRecord)
        }
        #expect(try decode(Self.section(secrets) + realRecord) == Self.deriving)
    }

    // MARK: Invalid accounts

    @Test func `Decodes a valid account from the parts that the tests change`() throws {
        let account = try decode(Self.section(Self.secret(1)) + Self.section(Self.record))
        #expect(account.id == "1")
        #expect(account.credentials.accessToken == Secret("token"))
        #expect(account.credentials.refreshToken == nil)
    }

    @Test(arguments: [0, 7, 255, 65_535] as [UInt16])
    func `Reports an unknown secret tag as a later version`(tag: UInt16) {
        expect(.unsupportedVersion, of: Self.section(Self.secret(1) + Self.secret(tag)) + Self.section(Self.record))
    }

    @Test(arguments: [1, 0x0100, .max] as [UInt16])
    func `Reports nonzero reserved bytes as a later version`(reserved: UInt16) {
        expect(.unsupportedVersion, of: Self.section(Self.secret(1, reserved: reserved)) + Self.section(Self.record))
    }

    @Test(
        arguments: [
            ["url": "https://auth.example.com/token"], ["expiresAt": .date(Date(timeIntervalSince1970: 5))],
            ["url": 1, "expiresAt": .date(Date(timeIntervalSince1970: 5))], "https://auth.example.com/token",
        ] as [ProfileValue])
    func `Ignores a token endpoint that only a later version can read`(endpoint: ProfileValue) throws {
        var record = Self.account.sealedRecord
        record["tokenEndpoint"] = endpoint
        let account = try Account(record: record, secrets: Self.account.sealedSecrets)
        #expect(account.credentials.tokenEndpoint == nil)
        #expect(account.credentials.refreshToken == Self.account.credentials.refreshToken)
    }

    @Test func `Refuses a malformed or truncated plaintext`() {
        // Use the secret twice, and no access token.
        for secrets in [Self.secret(1) + Self.secret(1), [], Self.secret(2)] as [[UInt8]] {
            expect(.damaged, of: Self.section(secrets) + Self.section(Self.record))
        }
        // Use records that are not accounts.
        for record in [[], Array("bplist00".utf8), Array("<plist/>".utf8)] {
            expect(.damaged, of: Self.section(Self.secret(1)) + Self.section(record))
        }
        let plaintext = Self.section(Self.secret(1)) + Self.section(Self.record)
        for count in 0..<plaintext.count { expect(.damaged, of: Array(plaintext.prefix(count))) }
        expect(.damaged, of: plaintext + [0])
    }

    @Test(arguments: [0, 1, 7, 0x7FFF_FFFF, 0x8000_0000, .max] as [UInt32])
    func `Refuses a plaintext with a wrong length in any part`(length: UInt32) {
        let secret = Self.secret(1)
        let plaintext = Self.section(secret) + Self.section(Self.record)
        // Change the length of the secrets, of the token, and of the record.
        for offset in [0, 8, 4 + secret.count] {
            var changed = plaintext
            changed.replaceSubrange(offset..<offset + 4, with: Self.number(length))
            #expect(throws: AccountError.self) { try decode(changed) }
        }
    }

    // MARK: Parts

    /// A user "1" and a token of the type "Bearer", received one second into 2001.
    private static let record: [UInt8] = {
        struct Record: Encodable {
            var id = "1"
            var tokenType = "Bearer"
            var issuedAt = Date(timeIntervalSinceReferenceDate: 1)
        }
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        // Without a record, all tests below fail.
        return (try? encoder.encode(Record())).map(Array.init) ?? []
    }()

    private static func number(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    private static func section(_ bytes: [UInt8]) -> [UInt8] { number(UInt32(bytes.count)) + bytes }

    private static func secret(_ tag: UInt16, reserved: UInt16 = 0) -> [UInt8] {
        number(tag) + number(reserved) + section(Array("token".utf8))
    }

    private func decode(_ plaintext: [UInt8]) throws -> Account {
        // Padding follows the plaintext, and no length may reach into the padding.
        let padding = [0x80] + [UInt8](repeating: 0, count: 15)
        return try AccountPlaintext.decode(GuardedBytes(copying: plaintext + padding), count: plaintext.count)
    }

    private func expect(
        _ code: AccountError.Code, of plaintext: [UInt8], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(sourceLocation: sourceLocation) {
            try decode(plaintext)
        } throws: { error in
            (error as? AccountError)?.code == code
        }
    }
}

extension GuardedBytes {
    /// The number of bytes before the padding.
    fileprivate var unpaddedCount: Int? {
        withUnsafeBytes { bytes in bytes.lastIndex { $0 != 0 }.flatMap { bytes[$0] == 0x80 ? $0 : nil } }
    }
}
