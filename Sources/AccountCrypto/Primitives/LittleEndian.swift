extension [UInt8] {
    package mutating func append(littleEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    /// Appends `lp(x)`: the length as a 32-bit number, followed by the bytes.
    package mutating func append(lengthPrefixed bytes: some Collection<UInt8>) {
        append(littleEndian: UInt32(bytes.count))
        append(contentsOf: bytes)
    }
}

/// Reads the envelope's fields in sequence. The caller must check that there are enough bytes.
struct FieldReader {
    private let all: ArraySlice<UInt8>
    private var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        all = bytes
        position = bytes.startIndex
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { position += count }
        return Array(all[position..<position + count])
    }

    mutating func number<Value: FixedWidthInteger>(_: Value.Type = Value.self) -> Value {
        let end = position + MemoryLayout<Value>.size
        defer { position = end }
        return all[position..<end].reversed().reduce(0) { $0 << 8 | Value($1) }
    }
}
