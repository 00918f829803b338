import CSodium

package enum Sodium {
    private static let started: Bool = sodium_init() >= 0

    /// Initializes libsodium. This method is safe to call from any thread, and only the first call has an effect.
    package static func start() {
        // libsodium fails only if the system provides no random numbers. In this case, there is no safe way to
        // continue.
        precondition(started, "libsodium did not start: the system provides no random numbers")
    }

    /// Returns whether a process can lock as much memory as a command needs. If not, the system may swap guarded memory
    /// to disk.
    package static func canLockMemory() -> Bool {
        start()
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 4096)
        defer { memory.deallocate() }
        guard sodium_mlock(memory.baseAddress!, memory.count) == 0 else { return false }
        sodium_munlock(memory.baseAddress!, memory.count)
        return true
    }

    package static func randomBytes(count: Int) -> [UInt8] {
        start()
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            randombytes_buf(buffer.baseAddress!, count)
            filled = count
        }
    }

    /// Returns the unkeyed BLAKE2b hash, 1 to 64 bytes long (RFC 7693).
    package static func hash(_ message: [UInt8], count: Int = 32) -> [UInt8] {
        precondition((1...64).contains(count))
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            crypto_generichash_blake2b(buffer.baseAddress!, count, message, UInt64(message.count), nil, 0)
            filled = count
        }
    }

    /// Returns the SHA-256 hash (FIPS 180-4). The bytes may be secret, because no copy of them remains in memory.
    package static func sha256(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let message = GuardedBytes(copying: bytes)
        return message.withUnsafeBytes { message in
            [UInt8](unsafeUninitializedCapacity: 32) { buffer, filled in
                crypto_hash_sha256(buffer.baseAddress!, message.baseAddress!, UInt64(message.count))
                filled = 32
            }
        }
    }

    /// Compares two buffers in a time that depends only on the lengths.
    package static func isEqual(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) -> Bool {
        let left = Array(left)
        let right = Array(right)
        return left.count == right.count && sodium_memcmp(left, right, left.count) == 0
    }
}
