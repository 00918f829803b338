import Testing

@testable import AccountCrypto

struct LittleEndianTests {
    @Test func `Encodes a number with its least significant byte first`() {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: UInt8(0x01))
        bytes.append(littleEndian: UInt16(0x0302))
        bytes.append(littleEndian: UInt32(0x0706_0504))
        bytes.append(littleEndian: UInt64(0x0F0E_0D0C_0B0A_0908))
        #expect(bytes == Array(1...15))
    }

    @Test func `Reads consecutive fields of different sizes`() {
        var fields = FieldReader([0xFF, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xFE][1...])
        #expect(fields.number(UInt8.self) == 0x01)
        #expect(fields.number(UInt16.self) == 0x0302)
        #expect(fields.number(UInt32.self) == 0x0706_0504)
        #expect(fields.number(UInt64.self) == 0x0F0E_0D0C_0B0A_0908)
        #expect(fields.bytes(1) == [0xFE])
    }

    @Test func `Reads the largest number of each size`() {
        var fields = FieldReader([UInt8](repeating: 0xFF, count: 14)[...])
        #expect(fields.number(UInt16.self) == .max)
        #expect(fields.number(UInt32.self) == .max)
        #expect(fields.number(UInt64.self) == .max)
    }

    @Test func `Encodes a length prefix in four bytes`() {
        var bytes: [UInt8] = [9]
        bytes.append(lengthPrefixed: [])
        bytes.append(lengthPrefixed: [UInt8](repeating: 7, count: 258))
        #expect(bytes == [9, 0, 0, 0, 0, 2, 1, 0, 0] + [UInt8](repeating: 7, count: 258))
    }
}
