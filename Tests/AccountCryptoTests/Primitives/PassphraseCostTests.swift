import Testing

@testable import AccountCrypto

struct PassphraseCostTests {
    @Test(
        arguments: [
            (1, 8192, true), (10, 1_048_576, true), (3, 262_144, true), (0, 8192, false), (11, 8192, false),
            (.max, 8192, false), (1, 8191, false), (1, 0, false), (1, 1_048_577, false), (1, .max, false),
            (.max, .max, false),
        ] as [(UInt32, UInt32, Bool)])
    func `Rejects an out-of-range passphrase cost`(operations: UInt32, memoryKiB: UInt32, isPossible: Bool) {
        #expect((PassphraseCost(operations: operations, memoryKiB: memoryKiB) != nil) == isPossible)
    }

    @Test func `Uses libsodium's MODERATE as the default passphrase cost`() {
        #expect(PassphraseCost.moderate == PassphraseCost(operations: 3, memoryKiB: 256 * 1024))
    }

    // The expected bytes are from argon2-cffi 25.1, which contains the reference implementation of Argon2.
    @Test func `Derives a passphrase's key with Argon2id 1.3 and one lane`() throws {
        let cost = try #require(PassphraseCost(operations: 2, memoryKiB: 8192))
        let key = cost.key(passphrase: GuardedBytes(copying: "correct horse battery staple".utf8), salt: Array(0..<16))
        #expect(key?.copy == [UInt8](hex: "a891dd91a3d123add6ea78ceedcc94a7f1dc1e4ca480e57e6f240a113662ea2f"))
    }

    @Test func `Derives another key if passphrase, salt, passes or memory differ`() {
        let salt = [UInt8](0..<16)
        let passphrase = GuardedBytes(copying: "passphrase".utf8)
        let keys = [
            SampleArchive.cheapest.key(passphrase: passphrase, salt: salt),
            SampleArchive.cheapest.key(passphrase: GuardedBytes(copying: "Passphrase".utf8), salt: salt),
            SampleArchive.cheapest.key(passphrase: GuardedBytes(copying: "passphrase\n".utf8), salt: salt),
            SampleArchive.cheapest.key(passphrase: GuardedBytes(copying: []), salt: salt),
            SampleArchive.cheapest.key(passphrase: passphrase, salt: salt.reversed()),
            PassphraseCost(operations: 2, memoryKiB: 8192)!.key(passphrase: passphrase, salt: salt),
            PassphraseCost(operations: 1, memoryKiB: 8193)!.key(passphrase: passphrase, salt: salt),
        ]
        #expect(Set(keys.compactMap { $0?.copy }).count == keys.count)
    }
}
