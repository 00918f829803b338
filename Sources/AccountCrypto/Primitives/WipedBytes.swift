import CSodium

/// Bytes in ordinary memory that are zeroed before the memory is freed, for data that is too large for guarded memory.
/// An array would leave a copy of its bytes in memory each time that it grows, and when it is released.
package struct WipedBytes: Sendable {
    private final class Storage: @unchecked Sendable {
        // @unchecked Sendable: only a `WipedBytes` that has the only reference writes to the buffer.
        let buffer: UnsafeMutableRawBufferPointer

        init(capacity: Int) { buffer = .allocate(byteCount: capacity, alignment: 16) }

        deinit {
            if let base = buffer.baseAddress { sodium_memzero(base, buffer.count) }
            buffer.deallocate()
        }
    }

    private var storage: Storage

    package private(set) var count = 0

    package init() { self.init(capacity: 0) }

    /// Copies bytes. The caller must wipe the original.
    @inlinable
    package init(_ bytes: some Collection<UInt8>) {
        self.init(capacity: bytes.count)
        append(contentsOf: bytes)
    }

    package init(capacity: Int) { storage = Storage(capacity: capacity) }

    /// Allocates memory, which `body` fills. `body` returns the number of bytes that it has written.
    package init<Failure: Error>(
        capacity: Int, filledBy body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        storage = Storage(capacity: capacity)
        count = try body(storage.buffer)
    }

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

    // Inlined, because the caller knows the type. Otherwise, the runtime would look up the type by its name.
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
