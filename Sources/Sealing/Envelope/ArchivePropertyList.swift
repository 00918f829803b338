/// `Account.plist`: a binary property list `{ format: "AccountKit archive", version: 1, sealed: <data> }`.
///
/// Every property-list library reads it. It is always the same seven objects in the same order, so it is written and
/// checked to the byte here: a library would also accept changed bytes that mean the same, and this reader must notice
/// every changed bit. Source of the layout: CFBinaryPList.c of swift-corelibs-foundation, format "bplist00".
package enum ArchivePropertyList {
    /// The largest archive, in bytes.
    package static let maximumByteCount = 1024 * 1024

    private static let formatName = "AccountKit archive"

    /// Everything before the length of the data: a dictionary of three keys and values, then the objects it refers to.
    private static let prefix: [UInt8] = {
        var bytes = Array("bplist00".utf8)
        bytes += [0xD3, 1, 2, 3, 4, 5, 6]
        bytes += shortString("format")
        bytes += shortString("version")
        bytes += shortString("sealed")
        bytes += [0x5F, 0x10, UInt8(formatName.utf8.count)] + Array(formatName.utf8)
        bytes += [0x10, 1]
        bytes += [0x4F, 0x12]
        return bytes
    }()

    /// Where the version number stands.
    private static let versionOffset = prefix.count - 3

    /// The offsets of the seven objects, in four bytes each.
    private static let offsetTable: [UInt8] = {
        let string = { (text: String) in text.utf8.count + 1 }
        let offsets = [7, string("format"), string("version"), string("sealed"), formatName.utf8.count + 3, 2]
            .reduce(into: [8]) { $0.append($0.last! + $1) }
        return offsets.flatMap { bigEndian(UInt32($0)) }
    }()

    /// The property list around an envelope.
    package static func encode(sealed: [UInt8]) -> [UInt8] {
        var bytes = prefix
        bytes += bigEndian(UInt32(sealed.count))
        bytes += sealed
        bytes += suffix(sealedByteCount: sealed.count)
        return bytes
    }

    /// The envelope in a property list.
    package static func decode(_ bytes: [UInt8]) throws(EnvelopeError) -> [UInt8] {
        guard bytes.count <= maximumByteCount else {
            throw .damaged("it has \(bytes.count) bytes, an archive at most \(maximumByteCount)")
        }
        guard bytes.starts(with: "bplist00".utf8) else { throw .damaged("it is not a binary property list") }
        let start = prefix.count + 4
        guard bytes.count > start else { throw .damaged("it is cut off") }
        if bytes[..<versionOffset] == prefix[..<versionOffset], bytes[versionOffset] != 1 {
            throw .unsupported("archive version \(bytes[versionOffset])")
        }
        guard bytes.starts(with: prefix) else { throw .damaged("it is not an account archive") }
        let count = Int(clamping: bytes[prefix.count..<start].reduce(0 as UInt32) { $0 << 8 | UInt32($1) })
        guard bytes.count - start > count, Array(bytes[(start + count)...]) == suffix(sealedByteCount: count) else {
            throw .damaged("it is cut off, or its end is not that of an account archive")
        }
        return Array(bytes[start..<start + count])
    }

    /// The offset table and the 32-byte trailer.
    private static func suffix(sealedByteCount: Int) -> [UInt8] {
        let tableOffset = UInt64(prefix.count + 4 + sealedByteCount)
        let trailer: [UInt8] = [0, 0, 0, 0, 0, 0, 4, 1] + bigEndian(UInt64(7)) + bigEndian(UInt64(0))
        return offsetTable + trailer + bigEndian(tableOffset)
    }

    private static func shortString(_ text: String) -> [UInt8] {
        [0x50 | UInt8(text.utf8.count)] + Array(text.utf8)
    }

    private static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
}
