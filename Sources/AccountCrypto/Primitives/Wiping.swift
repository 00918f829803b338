import CSodium

package enum Wiping {
    /// Zeroes memory that another library owns, such as the network buffers of tokens.
    ///
    /// The pointer is a read-only one because the owner would copy the buffer before lending it for writing, and the original
    /// bytes must be wiped. No other code may read or write the bytes during the call.
    package static func zero(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, bytes.count > 0 else { return }
        sodium_memzero(UnsafeMutableRawPointer(mutating: base), bytes.count)
    }
}
