import CSodium
import Synchronization

/// Bytes in memory that libsodium guards: on pages of their own between inaccessible ones, locked and kept out of core
/// dumps where the kernel allows, and zeroed when dropped. From the end of `init` on they are read-only, but for up to 64
/// of them: that many have the keys that come and go while an archive is opened, and protecting their pages took longer than
/// all that is done with them.
///
/// One allocation costs about 26 µs and three pages, so an account has one for all its secrets, not one a token; and what
/// is dropped is zeroed at once, and kept for the next one of that length, for there is one each time that an archive is
/// opened. Source: libsodium, "Secure memory" (`sodium_malloc`).
package final class GuardedBytes: @unchecked Sendable {
    // @unchecked Sendable: what `base` points to is written in `init` only, before anyone else can hold the object, and in
    // `deinit`, when nobody holds it any more.
    private let base: UnsafeMutableRawPointer
    package let count: Int

    /// Makes `count` zero bytes and lets `body` fill them; nothing can write to them afterwards.
    package init<Failure: Error>(
        count: Int,
        filledBy body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        Sodium.start()
        base = GuardedMemory.take(count)
        self.count = count
        let bytes = UnsafeMutableRawBufferPointer(start: base, count: count)
        // A throw below runs `deinit`, since every stored property is set.
        try body(bytes)
        if GuardedMemory.isProtected(count) { sodium_mprotect_readonly(base) }
    }

    /// A guarded copy of bytes from ordinary memory; wiping the original is up to the caller.
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

    /// Takes a time that depends on the lengths alone.
    package static func isEqual(
        _ left: GuardedBytes, _ leftRange: Range<Int>, _ right: GuardedBytes, _ rightRange: Range<Int>
    ) -> Bool {
        guard leftRange.count == rightRange.count else { return false }
        // The very same bytes: that says nothing of what they are.
        if left === right, leftRange == rightRange { return true }
        return sodium_memcmp(left.base + leftRange.lowerBound, right.base + rightRange.lowerBound, leftRange.count) == 0
    }
}

private enum GuardedMemory {
    /// Writable and zero.
    private struct Free: @unchecked Sendable {
        // @unchecked Sendable: whoever takes it out of the list is the only one who has it.
        let base: UnsafeMutableRawPointer
        let count: Int
    }

    /// Whether so many bytes are made read-only. An archive's tokens always are more, since they are padded.
    static func isProtected(_ count: Int) -> Bool { count > 64 }

    /// The oldest first.
    private static let free = Mutex<[Free]>([])

    /// As many as opening and saving an archive needs at a time. They stay locked, which a process may do with some MiB
    /// only (RLIMIT_MEMLOCK).
    private static let maximumFreeCount = 8
    private static let maximumFreeByteCount = 16 * 1024

    static func take(_ count: Int) -> UnsafeMutableRawPointer {
        let found = free.withLock { free in
            free.lastIndex { $0.count == count }.map { free.remove(at: $0).base }
        }
        if let found { return found }
        guard let base = sodium_malloc(count) else {
            // What any Swift allocation does when there is no memory left.
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
