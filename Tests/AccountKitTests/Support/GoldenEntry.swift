import AccountCrypto
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

/// Entries beside the account, which every release opens; see *The archive format*.
///
/// The app is `testing`, the session is `default`, and the key is 32 bytes of 7. The date is ``Fixture/now``.
enum GoldenEntry: String, CaseIterable {
    /// The tokens of ``account`` after a failed attempt at a minute, and a refusal at two minutes.
    case refusedRevocation = "revocation-refused"

    /// The tokens of ``account``, which wait for the sign-out.
    case waitingRevocation = "revocation-waiting"

    case offlineKey = "offline-key"

    /// The same key while its user is signing out.
    case offlineKeyOfSignOut = "offline-key-signing-out"

    var bytes: [UInt8] {
        get throws {
            let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            return [UInt8](try Data(contentsOf: folder.appending(path: "Vault/Fixtures/\(rawValue).plist")))
        }
    }

    /// The hash of the key in ``offlineKey``.
    static let fingerprint = "54116bcc27e4b5315b480a9a886bd8dbdf794bbe97ba7e261505d326cf96c999"

    /// The owner of the tokens, with a secret of each kind.
    static let account: Account = {
        var account = Account.fresh(at: Fixture.now)
        account.credentials.idToken = Secret("id-1")
        account.credentials.clientSecret = .secret(Secret("client-secret-1"))
        account.credentials.keep(
            Credentials(
                accessToken: Secret("derived-1"), scopes: ["read"], issuedAt: Fixture.now,
                expiresAt: Fixture.now.addingTimeInterval(60)),
            for: TokenTarget(stored: "api", [], []), at: Fixture.now)
        return account
    }()

    /// The account in the form that the revocation queue stores.
    static let queued = Account(id: account.id, issuer: account.issuer, credentials: account.credentials)
}

extension SealedPayload {
    /// Returns the payload after encoding and decoding.
    func decoded<Payload: SealedPayload>(as type: Payload.Type) throws -> Payload {
        let (plaintext, _) = try SealedPlaintext.encode(self)
        let count = try #require(plaintext.withUnsafeBytes { $0.lastIndex(of: 0x80) })
        return try SealedPlaintext.decode(plaintext, count: count)
    }

    /// The bytes of the record section, with padding.
    var recordSection: [UInt8] {
        get throws {
            let (plaintext, _) = try SealedPlaintext.encode(self)
            let secretsCount = sealedSecrets.reduce(0) { $0 + 8 + $1.secret.byteCount }
            return plaintext.withUnsafeBytes { Array($0[(4 + secretsCount + 4)...]) }
        }
    }
}
