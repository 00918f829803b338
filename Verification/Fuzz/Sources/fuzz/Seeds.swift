@testable import AccountKit
import Foundation
@testable import AccountCrypto

/// Writes the binary seeds: envelopes, archives and plaintexts.
func writeSeeds(to folder: String) throws {
    func write(_ bytes: [UInt8], _ target: String, _ name: String) throws {
        let place = URL(filePath: folder).appending(path: target)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        try Data(bytes).write(to: place.appending(path: name))
    }
    let credentials = Credentials(
        accessToken: Secret("access"), refreshToken: Secret("refresh"), idToken: Secret("e30.e30.c2ln"),
        scopes: ["openid"], clientID: "tool", issuedAt: now, expiresAt: now + 3600)
    let full = Account(
        id: "1", issuer: "https://login.example.com", username: "alice", credentials: credentials,
        profile: [
            "a": .string("$null"), "b": .integer(-1), "c": .real(0.5), "d": .boolean(true), "e": .date(now),
            "f": .data(Data([0, 1])), "g": .array([.array([])]), "h": .dictionary(["i": .string("ü")]),
        ], verifiedAt: now)
    let small = Account(id: "2", credentials: Credentials(accessToken: Secret("a"), issuedAt: now))
    var deriving = small
    deriving.credentials.derivedTokens = derivedTokens
    for (name, account) in ["full": full, "small": small, "derived": deriving] {
        let (plaintext, _) = try AccountPlaintext.encode(account)
        let padded = plaintext.withUnsafeBytes { Array($0) }
        try write(Array(padded[..<padded.lastIndex(of: 0x80)!]), "plaintext", name)
        let keys = try ArchiveKeys(
            for: [.init(opener: fuzzKey, kind: .keyFile, created: 1_800_000_000)], context: fuzzContext)
        let envelope = Envelope.seal(plaintext, generation: 1, keys: keys, context: fuzzContext)
        try write(envelope, "envelope", name)
        try write(ArchivePropertyList.encode(sealed: envelope), "archive", name)
    }
    let cost = PassphraseCost(operations: 1, memoryKiB: 8 * 1024)!
    let passphrase = ArchiveKeys.NewSlot(
        opener: .passphrase(GuardedBytes(copying: Array("passphrase".utf8))), kind: .passphrase, created: 1_800_000_000,
        cost: cost)
    let keys = try ArchiveKeys(for: [passphrase], context: fuzzContext)
    let (plaintext, _) = try AccountPlaintext.encode(small)
    try write(Envelope.seal(plaintext, generation: 2, keys: keys, context: fuzzContext), "envelope", "passphrase")
    try write([], "archive", "empty")
}
