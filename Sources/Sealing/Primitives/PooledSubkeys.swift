import CSodium
import Synchronization

/// 64 guarded bytes that are used for a moment: zeroed when dropped, and then kept for the next one who needs some, since
/// guarded memory takes longer to get than everything that is done with it.
final class PooledSubkeys: @unchecked Sendable {
    // @unchecked Sendable: `base` is written in `init` only, before anyone else can hold the object, and in `deinit`, when
    // nobody holds it any more.
    private let base: Address

    static let byteCount = 64

    private struct Address: @unchecked Sendable {
        // @unchecked Sendable: whoever takes an address out of the pool is the only one who has it.
        let pointer: UnsafeMutableRawPointer
    }

    /// As many as are in use at a time, but for tasks that open archives at once.
    private static let free = Mutex<[Address]>([])
    private static let maximumFreeCount = 4

    init(filledBy body: (UnsafeMutableRawBufferPointer) -> Void) {
        Sodium.start()
        if let address = Self.free.withLock({ $0.popLast() }) {
            base = address
        } else {
            guard let pointer = sodium_malloc(Self.byteCount) else {
                // What any Swift allocation does when there is no memory left.
                fatalError("out of guarded memory: \(Self.byteCount) bytes (see `ulimit -v`)")
            }
            base = Address(pointer: pointer)
        }
        body(UnsafeMutableRawBufferPointer(start: base.pointer, count: Self.byteCount))
    }

    deinit {
        sodium_memzero(base.pointer, Self.byteCount)
        let address = base
        let isKept = Self.free.withLock { free in
            guard free.count < Self.maximumFreeCount else { return false }
            free.append(address)
            return true
        }
        if !isKept { sodium_free(address.pointer) }
    }

    /// Lends the bytes for the time of `body`.
    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(start: base.pointer, count: Self.byteCount))
    }
}
