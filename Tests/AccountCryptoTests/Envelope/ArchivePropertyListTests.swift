import Foundation
import Testing

@testable import AccountCrypto

struct ArchivePropertyListTests {
    @Test(arguments: [0, 1, 14, 15, 255, 256, 65_535, 65_536, 1024 * 1024 - 126])
    func `Encodes and decodes an envelope without changes`(count: Int) throws {
        let envelope = Sodium.randomBytes(count: count)
        #expect(try ArchivePropertyList.decode(ArchivePropertyList.encode(sealed: envelope)) == envelope)
    }

    @Test func `Encodes the archive's property list with the bytes of the format page`() {
        let expected =
            [UInt8](
                hex: """
                    62706c6973743030 d3010203040506 56666f726d6174 5776657273696f6e 567365616c6564
                    5f10124163636f756e744b69742061726368697665 1001 4f1200000003
                    """) + [7, 8, 9]
            + [UInt8](
                hex: """
                    00000008 0000000f 00000016 0000001e 00000025 0000003a 0000003c
                    0000000000000401 0000000000000007 0000000000000000 0000000000000045
                    """)
        #expect(ArchivePropertyList.encode(sealed: [7, 8, 9]) == expected)
    }

    @Test(arguments: [0, 1, 300, 70_000])
    func `Encodes an archive as a property list that Foundation reads`(count: Int) throws {
        let envelope = Sodium.randomBytes(count: count)
        let list = try PropertyListSerialization.propertyList(
            from: Data(ArchivePropertyList.encode(sealed: envelope)), format: nil)
        let entries = try #require(list as? [String: Any])
        #expect(Set(entries.keys) == ["format", "version", "sealed"])
        #expect(entries["format"] as? String == "AccountKit archive")
        #expect(entries["version"] as? Int == 1)
        #expect(entries["sealed"] as? Data == Data(envelope))
    }

    @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func `Rejects an archive in another property list encoding`(
        format: PropertyListSerialization.PropertyListFormat
    ) throws {
        let entries: [String: Any] = ["format": "AccountKit archive", "version": 1, "sealed": Data([1, 2, 3])]
        let other = try PropertyListSerialization.data(fromPropertyList: entries, format: format, options: 0)
        expect(.damaged) { _ = try ArchivePropertyList.decode(Array(other)) }
    }

    @Test(arguments: [0, 2, 3, 255] as [UInt8])
    func `Refuses an archive of another version and reports the version number`(version: UInt8) {
        let file = ArchivePropertyList.encode(sealed: [1, 2, 3]).replacing(at: 59, with: [version])
        let error = EnvelopeError.unsupported("archive version \(version)")
        #expect(throws: error) { try ArchivePropertyList.decode(file) }
        // A later version may write any data after the version number.
        let later = Array(file.prefix(60)) + [UInt8](repeating: 0xAB, count: 20)
        #expect(throws: error) { try ArchivePropertyList.decode(later) }
    }

    @Test func `Refuses an archive file of more than 1 MiB`() {
        let largest = ArchivePropertyList.encode(sealed: [UInt8](repeating: 0, count: 1024 * 1024 - 126))
        #expect(largest.count == ArchivePropertyList.maximumByteCount)
        let larger = ArchivePropertyList.encode(sealed: [UInt8](repeating: 0, count: 1024 * 1024 - 125))
        expect(.damaged) { _ = try ArchivePropertyList.decode(larger) }
    }

    @Test(arguments: [0, 1, 2, 4, 100, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF] as [UInt32])
    func `Refuses an archive whose data has the wrong length`(length: UInt32) {
        let file = ArchivePropertyList.encode(sealed: [1, 2, 3])
        let changed = file.replacing(at: 62, with: withUnsafeBytes(of: length.bigEndian) { Array($0) })
        expect(.damaged) { _ = try ArchivePropertyList.decode(changed) }
    }

    @Test(arguments: ["", "bplist00", "bplist01", "<?xml version=\"1.0\"?>", "ACCT\r\n\u{1A}\n"])
    func `Rejects a property list that is not an archive as damaged`(text: String) {
        expect(.damaged) { _ = try ArchivePropertyList.decode(Array(text.utf8)) }
        expect(.damaged) {
            _ = try ArchivePropertyList.decode(Array(text.utf8) + [UInt8](repeating: 0, count: 500))
        }
    }
}
