import CSodium

package enum Wiping {
    /// Zeroes memory that another library owns, such as the buffers in which tokens are sent and received.
    ///
    /// The pointer says that they are read-only since their owner would copy them before it lends them for writing, and
    /// it is the bytes that were used that are to go. Nobody else may read or write them meanwhile.
    package static func zero(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, bytes.count > 0 else { return }
        sodium_memzero(UnsafeMutableRawPointer(mutating: base), bytes.count)
    }
}
