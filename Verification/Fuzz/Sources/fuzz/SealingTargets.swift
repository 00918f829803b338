@testable import AccountKit
import Foundation
@testable import AccountCrypto

let sealingTargets = [
    FuzzTarget(name: "envelope", body: { readEnvelope($0) }),
    FuzzTarget(name: "archive", body: { readPropertyList($0) }),
    FuzzTarget(name: "plaintext", body: { readPlaintext($0) }),
]

let fuzzContext = SealingContext(appIdentifier: "fuzz", sessionName: "default")
let fuzzKey = KeySlot.Opener.key(GuardedBytes(copying: [UInt8](repeating: 7, count: 32)))

private func readEnvelope(_ bytes: [UInt8]) {
    let envelope: Envelope
    do throws(EnvelopeError) {
        envelope = try Envelope(parsing: bytes)
    } catch {
        return
    }
    promise((1...8).contains(envelope.slots.count), "1 to 8 slots")
    let slots = envelope.slots.flatMap(\.bytes)
    promise(bytes[128..<128 + slots.count].elementsEqual(slots), "slots are written as they were read")
    for slot in envelope.slots {
        promise((slot.cost != nil) == (slot.kind == .passphrase), "only a passphrase slot has a cost")
        // From now on, deriving a key has this cost.
        guard let cost = slot.cost else { continue }
        promise((1...10).contains(cost.operations), "1 to 10 passes")
        promise((8 << 10...1 << 20).contains(cost.memoryKiB), "8 MiB to 1 GiB")
    }
    do throws(EnvelopeError) {
        guard let slot = envelope.slots.first(where: { $0.kind == .keyFile }) else { return }
        let keys = try envelope.unlock(slot, with: fuzzKey, context: fuzzContext)
        let (plaintext, count) = try envelope.open(with: keys, context: fuzzContext)
        promise(count < plaintext.count, "there is padding")
    } catch {
        let isExpected: Bool =
            switch error {
            case .authenticationFailed, .damaged: true
            default: false
            }
        promise(isExpected, "opening with a key fails as \(error)")
    }
}

private func readPropertyList(_ bytes: [UInt8]) {
    if let sealed = try? ArchivePropertyList.decode(bytes) {
        promise(ArchivePropertyList.encode(sealed: sealed) == bytes, "an archive has only one encoding")
    }
    let written = ArchivePropertyList.encode(sealed: bytes)
    promise((try? ArchivePropertyList.decode(written)) == bytes, "a written archive can be read")
    // Other parsers read the same content.
    let list = try? PropertyListSerialization.propertyList(from: Data(written), format: nil) as? [String: Any]
    promise(list?["sealed"] as? Data == Data(bytes), "every reader of property lists finds the envelope")
}

/// The property list in a plaintext stays intact, so that most inputs contain an account.
private func readPlaintext(_ bytes: [UInt8]) {
    var bytes = bytes
    if let start = bytes.firstRange(of: "bplist00".utf8)?.lowerBound {
        let isDeriving = bytes[start...].firstRange(of: "derivedTokens".utf8) != nil
        bytes.replaceSubrange(start..., with: isDeriving ? derivingRecord : plainRecord)
    }
    guard !bytes.isEmpty else { return }
    let plaintext = GuardedBytes(copying: bytes)
    guard let account = try? AccountPlaintext.decode(plaintext, count: bytes.count) else { return }
    promiseRoundTrip(of: account)
}

private let plainRecord = record(of: [])
private let derivingRecord = record(of: derivedTokens)

/// Two derived tokens.
let derivedTokens = [TokenTarget(stored: "api", [], ["read"]), TokenTarget(stored: nil, ["urn:a", "urn:b"], [])].map {
    DerivedToken(
        target: $0,
        credentials: Credentials(accessToken: Secret("d"), scopes: ["read"], issuedAt: now, expiresAt: now + 60))
}

/// The property list of a plaintext.
private func record(of derivedTokens: [DerivedToken]) -> [UInt8] {
    var credentials = Credentials(accessToken: Secret("a"), issuedAt: now)
    credentials.derivedTokens = derivedTokens
    guard let (plaintext, _) = try? AccountPlaintext.encode(Account(id: "1", credentials: credentials)) else {
        return []
    }
    let bytes = plaintext.withUnsafeBytes { Array($0) }
    return Array(bytes[(4 + 9 * (1 + derivedTokens.count) + 4)..<(bytes.lastIndex(of: 0x80) ?? 0)])
}

/// Checks that a decoded account can be encoded, and that the result decodes to an equal account.
func promiseRoundTrip(of account: Account) {
    // NaN is not equal to itself.
    guard account == account else { return }
    do {
        let (plaintext, _) = try AccountPlaintext.encode(account)
        var count = 0
        let bytes = plaintext.withUnsafeBytes { Array($0) }
        count = bytes.lastIndex(of: 0x80) ?? 0
        let again = try AccountPlaintext.decode(plaintext, count: count)
        promise(again.normalized == account.normalized, "read, written and read is the same")
    } catch {
        promise(false, "a decoded account cannot be encoded and decoded: \(error)")
    }
}

extension Account {
    /// The account without the details that a property list does not preserve, and that are never stored.
    fileprivate var normalized: Account {
        var account = self
        account.credentials.user = nil
        account.profile.fields = account.profile.fields.mapValues(\.normalized)
        return account
    }
}

extension ProfileValue {
    /// The value as read from a property list: a real number without a fraction becomes an integer.
    fileprivate var normalized: ProfileValue {
        switch self {
        case .real(let value): Int64(exactly: value).map { .integer($0) } ?? self
        case .array(let values): .array(values.map(\.normalized))
        case .dictionary(let fields): .dictionary(fields.mapValues(\.normalized))
        default: self
        }
    }
}
