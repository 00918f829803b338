import CSodium

package enum MemoryLock {
    /// Whether the system lets as much memory as a command needs be kept from being swapped to disk; otherwise guarded memory
    /// is used unlocked.
    package static func isAvailable() -> Bool {
        Sodium.start()
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 4096)
        defer { memory.deallocate() }
        guard sodium_mlock(memory.baseAddress!, memory.count) == 0 else { return false }
        sodium_munlock(memory.baseAddress!, memory.count)
        return true
    }
}
