import AccountSupport

/// Writes the binary property list of an archive's record. Whole numbers take as few bytes as the format allows, and
/// each ASCII key is written once. `PropertyListEncoder` took longer than the rest of a save without the disk access.
/// The layout is the format "bplist00" of CFBinaryPList.c in swift-corelibs-foundation.
struct RecordPropertyListWriter {
    private enum Object {
        case value(ProfileValue)
        case text(String)
        case array([Int])
        /// The indices of all keys, followed by the indices of all values.
        case dictionary([Int])
    }

    private var objects: [Object] = []
    private var keys: [String: Int] = [:]
    private var bytes = Array("bplist00".utf8)

    static func write(_ fields: [String: ProfileValue]) throws(RecordPropertyList.Malformed) -> [UInt8] {
        var writer = RecordPropertyListWriter()
        writer.objects.reserveCapacity(64)
        writer.bytes.reserveCapacity(1024)
        _ = try writer.number(.dictionary(fields), depth: 0)
        writer.writeObjects()
        return writer.bytes
    }

    // MARK: Numbering

    private mutating func number(_ value: ProfileValue, depth: Int) throws(RecordPropertyList.Malformed) -> Int {
        guard depth <= RecordPropertyList.maximumDepth else { throw RecordPropertyList.unusable }
        let index = objects.count
        objects.append(.value(value))
        switch value {
        case .array(let values):
            var references: [Int] = []
            references.reserveCapacity(values.count)
            // A property list has no null.
            for value in values where !value.isNull { references.append(try number(value, depth: depth + 1)) }
            objects[index] = .array(references)
        case .dictionary(let fields):
            var references: [Int] = []
            references.reserveCapacity(2 * fields.count)
            keys.reserveCapacity(keys.count + fields.count)
            let fields = fields.values.contains(where: \.isNull) ? fields.filter { !$0.value.isNull } : fields
            for name in fields.keys { references.append(number(ofKey: name)) }
            for value in fields.values { references.append(try number(value, depth: depth + 1)) }
            objects[index] = .dictionary(references)
        case .string, .integer, .real, .boolean, .date, .data, .null: break
        }
        return index
    }

    private mutating func number(ofKey name: String) -> Int {
        if let index = keys[name] { return index }
        let index = objects.count
        objects.append(.text(name))
        // Two strings that are not ASCII may be equal in Swift, but have different bytes.
        if name.isASCII { keys[name] = index }
        return index
    }

    // MARK: Writing

    private mutating func writeObjects() {
        let referenceByteCount = byteCount(of: objects.count)
        var offsets: [Int] = []
        offsets.reserveCapacity(objects.count)
        for object in objects {
            offsets.append(bytes.count)
            switch object {
            case .value(let value): write(value)
            case .text(let text): write(text)
            case .array(let references):
                writeMarker(0xA0, count: references.count)
                write(references, byteCount: referenceByteCount)
            case .dictionary(let references):
                writeMarker(0xD0, count: references.count / 2)
                write(references, byteCount: referenceByteCount)
            }
        }
        let tableOffset = bytes.count
        let offsetByteCount = byteCount(of: tableOffset)
        write(offsets, byteCount: offsetByteCount)
        bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetByteCount), UInt8(referenceByteCount)]
        write([objects.count, 0, tableOffset], byteCount: 8)
    }

    private mutating func write(_ value: ProfileValue) {
        switch value {
        case .boolean(let value): bytes.append(value ? 0x09 : 0x08)
        case .integer(let value): write(value)
        case .real(let value): write(marker: 0x23, bits: value.bitPattern)
        case .date(let date): write(marker: 0x33, bits: date.timeIntervalSinceReferenceDate.bitPattern)
        case .data(let data):
            writeMarker(0x40, count: data.count)
            bytes += data
        case .string(let text): write(text)
        case .array, .dictionary, .null:
            preconditionFailure("collections were replaced by references, and nulls were removed")
        }
    }

    private mutating func write(_ text: String) {
        var text = RecordPropertyList.escape(text)
        if text.isASCII {
            writeMarker(0x50, count: text.utf8.count)
            text.withUTF8 { bytes += $0 }
        } else {
            writeMarker(0x60, count: text.utf16.count)
            for unit in text.utf16 { write(Int(unit), byteCount: 2) }
        }
    }

    /// Writes a number: unsigned with 1, 2 or 4 bytes, or signed with 8 bytes.
    private mutating func write(_ number: Int64) {
        guard let small = UInt32(exactly: number) else { return write(marker: 0x13, bits: UInt64(bitPattern: number)) }
        switch byteCount(of: Int(small)) {
        case 1: bytes.append(0x10)
        case 2: bytes.append(0x11)
        default: bytes.append(0x12)
        }
        write(Int(small), byteCount: byteCount(of: Int(small)))
    }

    private mutating func writeMarker(_ marker: UInt8, count: Int) {
        guard count >= 15 else { return bytes.append(marker | UInt8(count)) }
        bytes.append(marker | 0xF)
        write(Int64(count))
    }

    private mutating func write(marker: UInt8, bits: UInt64) {
        bytes.append(marker)
        write(Int(truncatingIfNeeded: bits), byteCount: 8)
    }

    private mutating func write(_ numbers: [Int], byteCount: Int) {
        for number in numbers { write(number, byteCount: byteCount) }
    }

    private mutating func write(_ number: Int, byteCount: Int) {
        if byteCount == 1 { return bytes.append(UInt8(truncatingIfNeeded: number)) }
        for shift in stride(from: 8 * (byteCount - 1), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    private func byteCount(of number: Int) -> Int { number < 0x100 ? 1 : number < 0x1_0000 ? 2 : 4 }
}

extension String {
    fileprivate var isASCII: Bool {
        var text = self
        // Reduce over all bytes, since the compiler vectorizes this loop.
        return text.withUTF8 { $0.reduce(0, |) < 0x80 }
    }
}
