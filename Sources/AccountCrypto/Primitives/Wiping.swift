import CSodium

package enum Wiping {
    /// Zeroes memory that another library owns. No other code may read or write the bytes during the call.
    ///
    /// The pointer is read-only because the owner would copy the buffer before it provides a mutable pointer.
    package static func zero(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, bytes.count > 0 else { return }
        sodium_memzero(UnsafeMutableRawPointer(mutating: base), bytes.count)
    }
}
