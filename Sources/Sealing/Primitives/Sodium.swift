import CSodium

package enum Sodium {
    private static let started: Bool = sodium_init() >= 0

    /// Safe from any thread, and free after the first time.
    package static func start() {
        // Fails only where the system has no random numbers at all; there is no safe way on from there.
        precondition(started, "libsodium did not start: the system gives no random numbers")
    }

    package static func randomBytes(count: Int) -> [UInt8] {
        start()
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            randombytes_buf(buffer.baseAddress!, count)
            filled = count
        }
    }

    /// BLAKE2b without a key, 1…64 bytes (RFC 7693).
    package static func hash(_ message: [UInt8], count: Int = 32) -> [UInt8] {
        precondition((1...64).contains(count))
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            crypto_generichash_blake2b(buffer.baseAddress!, count, message, UInt64(message.count), nil, 0)
            filled = count
        }
    }

    /// SHA-256 (FIPS 180-4). The bytes may be secret: no copy of them stays behind.
    package static func sha256(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let message = GuardedBytes(copying: bytes)
        return message.withUnsafeBytes { message in
            [UInt8](unsafeUninitializedCapacity: 32) { buffer, filled in
                crypto_hash_sha256(buffer.baseAddress!, message.baseAddress!, UInt64(message.count))
                filled = 32
            }
        }
    }

    /// Takes a time that depends on the lengths alone.
    package static func isEqual(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) -> Bool {
        let left = Array(left)
        let right = Array(right)
        return left.count == right.count && sodium_memcmp(left, right, left.count) == 0
    }
}
