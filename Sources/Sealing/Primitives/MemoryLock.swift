import CSodium

/// Whether guarded memory can be kept from being swapped to disk.
package enum MemoryLock {
    /// What the guarded memory of a few accounts takes.
    private static let byteCount = 64 * 1024

    /// Tries to lock as much memory as a command needs.
    ///
    /// - Returns: `false` if the system refuses; guarded memory is then used unlocked.
    package static func isAvailable() -> Bool {
        Sodium.start()
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 4096)
        defer { memory.deallocate() }
        guard sodium_mlock(memory.baseAddress!, memory.count) == 0 else { return false }
        sodium_munlock(memory.baseAddress!, memory.count)
        return true
    }
}
