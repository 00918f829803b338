import CSodium

/// The cost of Argon2id (RFC 9106). The cost comes from a key slot, which is untrusted, so the initializer checks the
/// values before any work.
package struct PassphraseCost: Hashable, Sendable {
    /// The number of passes over the memory: 1…10.
    package let operations: UInt32

    /// The memory in KiB: 8 MiB…1 GiB.
    package let memoryKiB: UInt32

    /// The default, libsodium's MODERATE: 3 passes over 256 MiB, about 0.7 s.
    package static let moderate = PassphraseCost(operations: 3, memoryKiB: 256 * 1024)!

    package init?(operations: UInt32, memoryKiB: UInt32) {
        guard (1...10).contains(operations), (8 * 1024...1024 * 1024).contains(memoryKiB) else { return nil }
        self.operations = operations
        self.memoryKiB = memoryKiB
    }

    /// Derives a key of 32 bytes with Argon2id (`crypto_pwhash`). Returns `nil` if there is not enough memory.
    package func key(passphrase: GuardedBytes, salt: [UInt8]) -> GuardedBytes? {
        struct OutOfMemory: Error {}
        precondition(salt.count == Int(crypto_pwhash_SALTBYTES))
        return try? GuardedBytes(count: 32) { key throws(OutOfMemory) in
            let status = passphrase.withUnsafeBytes { passphrase in
                crypto_pwhash(
                    key.baseAddress!, UInt64(key.count), passphrase.baseAddress!, UInt64(passphrase.count), salt,
                    UInt64(operations), Int(memoryKiB) * 1024, crypto_pwhash_ALG_ARGON2ID13)
            }
            guard status == 0 else { throw OutOfMemory() }
        }
    }
}
