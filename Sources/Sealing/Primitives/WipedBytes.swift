import CSodium

/// Bytes in ordinary memory that are zeroed before the memory is given back: for what is sent and received, which would be
/// too much for guarded memory.
///
/// An array would leave a copy behind each time that it grows, and another where it is dropped.
package struct WipedBytes: Sendable {
    /// The one owner of an allocation.
    private final class Storage: @unchecked Sendable {
        // @unchecked Sendable: written to only through a `WipedBytes` that holds the only reference.
        let buffer: UnsafeMutableRawBufferPointer

        init(capacity: Int) { buffer = .allocate(byteCount: capacity, alignment: 16) }

        deinit {
            if let base = buffer.baseAddress { sodium_memzero(base, buffer.count) }
            buffer.deallocate()
        }
    }

    private var storage: Storage

    package private(set) var count = 0

    /// No bytes.
    package init() { self.init(capacity: 0) }

    /// A copy of bytes; wiping the original is up to the caller.
    @inlinable
    package init(_ bytes: some Collection<UInt8>) {
        self.init(capacity: bytes.count)
        append(contentsOf: bytes)
    }

    /// No bytes, with room for so many.
    package init(capacity: Int) { storage = Storage(capacity: capacity) }

    /// What `body` puts into so much memory; it returns how many bytes that is.
    package init<Failure: Error>(
        capacity: Int, filledBy body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        storage = Storage(capacity: capacity)
        count = try body(storage.buffer)
    }

    /// Lends the bytes for the time of `body`.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(storage) {} }
        return try body(UnsafeRawBufferPointer(rebasing: storage.buffer[..<count]))
    }

    package mutating func append(_ byte: UInt8) {
        makeRoom(for: 1)
        storage.buffer[count] = byte
        count += 1
    }

    // Inlined, since the type is known where it is called: otherwise the runtime would have to look for it by its name.
    @inlinable
    package mutating func append(contentsOf bytes: some Collection<UInt8>) {
        let isAppended: Void? = bytes.withContiguousStorageIfAvailable {
            append(contentsOf: UnsafeRawBufferPointer($0))
        }
        if isAppended == nil { for byte in bytes { append(byte) } }
    }

    package mutating func append(contentsOf bytes: UnsafeRawBufferPointer) {
        makeRoom(for: bytes.count)
        UnsafeMutableRawBufferPointer(rebasing: storage.buffer[count...]).copyMemory(from: bytes)
        count += bytes.count
    }

    /// Makes sure that there is an allocation of one's own, with room for so many bytes more.
    private mutating func makeRoom(for more: Int) {
        guard count + more > storage.buffer.count || !isKnownUniquelyReferenced(&storage) else { return }
        let larger = Storage(capacity: Swift.max(count + more, 2 * count))
        larger.buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage.buffer[..<count]))
        storage = larger
    }
}

extension WipedBytes: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(index: Int) -> UInt8 {
        precondition(0..<count ~= index)
        return storage.buffer[index]
    }

    package func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        try withUnsafeBytes { try $0.withMemoryRebound(to: UInt8.self, body) }
    }
}

extension WipedBytes: Equatable {
    package static func == (left: WipedBytes, right: WipedBytes) -> Bool { left.elementsEqual(right) }
}
