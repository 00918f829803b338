import CSodium
import Synchronization

/// Bytes in memory that libsodium guards: between inaccessible pages, locked, excluded from core dumps where the kernel
/// allows it, and zeroed on release. Source: libsodium, "Secure memory" (`sodium_malloc`).
///
/// After `init`, the bytes are read-only if there are more than 64. Fewer bytes stay writable: for the short-lived keys
/// that open an archive, the protection of the pages took longer than the use of the keys. An allocation costs about 26
/// µs and three pages. An account therefore keeps all its secrets in one allocation, and a new allocation reuses a
/// released allocation of the same length.
package final class GuardedBytes: @unchecked Sendable {
    // @unchecked Sendable: the memory at `base` is written only in `init`, before the object is shared, and in
    // `deinit`, after the last reference was released.
    private let base: UnsafeMutableRawPointer
    package let count: Int

    /// Allocates `count` zero bytes, which `body` fills. No code can change the bytes later.
    package init<Failure: Error>(
        count: Int,
        filledBy body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        Sodium.start()
        base = GuardedMemory.take(count)
        self.count = count
        let bytes = UnsafeMutableRawBufferPointer(start: base, count: count)
        // If `body` throws, `deinit` runs, because every stored property is set.
        try body(bytes)
        if GuardedMemory.isProtected(count) { sodium_mprotect_readonly(base) }
    }

    /// Copies bytes from ordinary memory. The caller must wipe the original.
    package convenience init(copying bytes: some Collection<UInt8>) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    package static func random(count: Int) -> GuardedBytes {
        GuardedBytes(count: count) { randombytes_buf($0.baseAddress!, $0.count) }
    }

    deinit {
        GuardedMemory.giveBack(base, count: count)
    }

    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: base, count: count))
    }

    /// Compares two ranges in a time that depends only on the lengths.
    package static func isEqual(
        _ left: GuardedBytes, _ leftRange: Range<Int>, _ right: GuardedBytes, _ rightRange: Range<Int>
    ) -> Bool {
        guard leftRange.count == rightRange.count else { return false }
        // The comparison of a range with itself does not reveal the bytes.
        if left === right, leftRange == rightRange { return true }
        return sodium_memcmp(left.base + leftRange.lowerBound, right.base + rightRange.lowerBound, leftRange.count) == 0
    }
}

private enum GuardedMemory {
    /// An unused allocation, writable and zeroed.
    private struct Free: @unchecked Sendable {
        // @unchecked Sendable: the code that removes an allocation from the list is its only owner.
        let base: UnsafeMutableRawPointer
        let count: Int
    }

    /// Returns whether an allocation is read-only. The tokens of an archive always are, because they are padded.
    static func isProtected(_ count: Int) -> Bool { count > 64 }

    /// The unused allocations, oldest first.
    private static let free = Mutex<[Free]>([])

    /// The number of allocations that opening and saving an archive requires at a time. Unused allocations stay locked,
    /// and RLIMIT_MEMLOCK is only a few MiB.
    private static let maximumFreeCount = 8
    private static let maximumFreeByteCount = 16 * 1024

    static func take(_ count: Int) -> UnsafeMutableRawPointer {
        let found = free.withLock { free in
            free.lastIndex { $0.count == count }.map { free.remove(at: $0).base }
        }
        if let found { return found }
        guard let base = sodium_malloc(count) else {
            // Swift's own allocations also end the process if there is not enough memory.
            fatalError("out of guarded memory: \(count) bytes (see `ulimit -v`)")
        }
        sodium_memzero(base, count)
        return base
    }

    static func giveBack(_ base: UnsafeMutableRawPointer, count: Int) {
        guard count <= maximumFreeByteCount, !isProtected(count) || sodium_mprotect_readwrite(base) == 0 else {
            return sodium_free(base)
        }
        sodium_memzero(base, count)
        let kept = Free(base: base, count: count)
        let surplus = free.withLock { free in
            free.append(kept)
            return free.count > maximumFreeCount ? free.removeFirst() : nil
        }
        if let surplus { sodium_free(surplus.base) }
    }
}
