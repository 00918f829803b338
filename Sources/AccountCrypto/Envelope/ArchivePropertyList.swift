/// `Account.plist`: a binary property list `{ format: "AccountKit archive", version: 1, sealed: <data> }`.
///
/// The list always contains the same seven objects in the same order. This type writes and checks each byte itself,
/// because it must detect every changed bit. A library would also accept changed bytes with the same meaning. Source of
/// the layout: CFBinaryPList.c of swift-corelibs-foundation, format "bplist00".
package enum ArchivePropertyList {
    package static let maximumByteCount = 1024 * 1024

    /// All bytes before the length of the data: a dictionary of three keys and values, followed by its objects.
    private static let prefix: [UInt8] = {
        var bytes = Array("bplist00".utf8) + [0xD3, 1, 2, 3, 4, 5, 6]
        for key in ["format", "version", "sealed"] { bytes += [0x50 | UInt8(key.utf8.count)] + key.utf8 }
        let format = "AccountKit archive"
        return bytes + [0x5F, 0x10, UInt8(format.utf8.count)] + format.utf8 + [0x10, 1, 0x4F, 0x12]
    }()

    private static let versionOffset = prefix.count - 3
    private static let objectOffsets: [UInt32] = [8, 15, 22, 30, 37, 58, 60]
    private static let overhead = encode(sealed: [UInt8]()).count

    package static func encode(sealed: some Collection<UInt8>) -> [UInt8] {
        head(byteCount: sealed.count) + sealed + tail(byteCount: sealed.count)
    }

    /// Returns the bytes before the data: all until the length of the data.
    private static func head(byteCount: Int) -> [UInt8] { prefix + bigEndian(UInt32(byteCount)) }

    /// Returns the bytes after the data: the table of offsets and the trailer.
    private static func tail(byteCount: Int) -> [UInt8] {
        let tableOffset = UInt64(prefix.count + 4 + byteCount)
        return objectOffsets.flatMap(bigEndian) + [0, 0, 0, 0, 0, 0, 4, 1] + bigEndian(UInt64(7)) + bigEndian(UInt64(0))
            + bigEndian(tableOffset)
    }

    package static func decode(_ bytes: [UInt8]) throws(EnvelopeError) -> [UInt8] {
        guard bytes.count <= maximumByteCount else {
            throw .damaged("it has \(bytes.count) bytes, more than the maximum of \(maximumByteCount)")
        }
        guard bytes.starts(with: "bplist00".utf8) else { throw .damaged("it is not a binary property list") }
        if bytes.count > versionOffset, bytes.starts(with: prefix[..<versionOffset]), bytes[versionOffset] != 1 {
            throw .unsupported("archive version \(bytes[versionOffset])")
        }
        guard bytes.starts(with: prefix) else { throw .damaged("it is not an account archive") }
        let byteCount = bytes.count - overhead
        guard byteCount >= 0, bytes.starts(with: head(byteCount: byteCount)),
            bytes.dropFirst(prefix.count + 4 + byteCount).elementsEqual(tail(byteCount: byteCount))
        else { throw .damaged("it is truncated, or its end is not valid") }
        return Array(bytes.dropFirst(prefix.count + 4).prefix(byteCount))
    }

    private static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
}
