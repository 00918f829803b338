import Testing

@testable import AccountCrypto

struct EnvelopeHeaderTests {
    @Test func `Encodes each header field at the offset on the format page`() {
        var header = EnvelopeHeader(
            slotCount: 3, ciphertextByteCount: 0x0102_0304, generation: 0x1112_1314_1516_1718,
            storeID: [UInt8](repeating: 0xA1, count: 16), dataKeyID: [UInt8](repeating: 0xA2, count: 16))
        header.salt = [UInt8](repeating: 0xA3, count: 32)
        header.nonce = [UInt8](repeating: 0xA4, count: 24)
        let bytes = header.bytes
        #expect(bytes.count == 128)
        #expect(Array(bytes[0..<8]) == [0x41, 0x43, 0x43, 0x54, 0x0D, 0x0A, 0x1A, 0x0A])
        #expect(Array(bytes[8..<12]) == [1, 0, 1, 0])
        #expect(Array(bytes[12..<16]) == [0x60, 0x02, 0, 0], "128 + 3 × 160")
        #expect(Array(bytes[16..<20]) == [4, 3, 2, 1])
        #expect(Array(bytes[20..<24]) == [3, 0, 0, 0])
        #expect(Array(bytes[24..<32]) == [0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11])
        #expect(Array(bytes[32..<48]) == header.storeID)
        #expect(Array(bytes[48..<64]) == header.dataKeyID)
        #expect(Array(bytes[64..<96]) == header.salt)
        #expect(Array(bytes[96..<120]) == header.nonce)
        #expect(Array(bytes[120..<128]) == [0, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test func `Encodes and decodes an envelope header without changes`() throws {
        let header = EnvelopeHeader(
            slotCount: 8, ciphertextByteCount: 528, generation: .max, storeID: Sodium.randomBytes(count: 16),
            dataKeyID: Sodium.randomBytes(count: 16))
        #expect(try EnvelopeHeader(parsing: header.bytes) == header)
    }

    @Test func `Encodes the binding to a place as flag 1`() throws {
        let header = EnvelopeHeader(
            slotCount: 1, ciphertextByteCount: 528, generation: 1, storeID: Sodium.randomBytes(count: 16),
            dataKeyID: Sodium.randomBytes(count: 16), isBoundToPlace: true)
        #expect(header.bytes[11] == 1)
        #expect(try EnvelopeHeader(parsing: header.bytes) == header)
    }

    /// A replacement of bytes, and the resulting error.
    struct Change: CustomTestStringConvertible, Sendable {
        let name: String
        let offset: Int
        let bytes: [UInt8]
        let error: EnvelopeError

        init(_ name: String, _ offset: Int, _ bytes: [UInt8], _ error: EnvelopeError) {
            self.name = name
            self.offset = offset
            self.bytes = bytes
            self.error = error
        }

        var testDescription: String { name }
    }

    @Test(arguments: [
        Change("magic", 0, [0x42], .damaged("it does not begin with the magic number of an envelope")),
        Change("line ends", 4, [0x0A, 0x1A], .damaged("it does not begin with the magic number of an envelope")),
        Change("version 0", 8, [0, 0], .unsupported("envelope version 0")),
        Change("version 2", 8, [2, 0], .unsupported("envelope version 2")),
        Change("version 257", 8, [1, 1], .unsupported("envelope version 257")),
        Change("suite 0", 10, [0], .unsupported("cipher suite 0")),
        Change("suite 2", 10, [2], .unsupported("cipher suite 2")),
        Change("a flag", 11, [2], .unsupported("flags 2")),
        Change("a flag beside the known one", 11, [3], .unsupported("flags 3")),
        Change("all flags", 11, [255], .unsupported("flags 255")),
        Change("header length 0", 12, [0, 0, 0, 0], .damaged("its header length is wrong")),
        Change("header length 128", 12, [128, 0, 0, 0], .damaged("its header length is wrong")),
        Change("header length greatest", 12, [255, 255, 255, 255], .damaged("its header length is wrong")),
        Change("ciphertext length 2 GiB", 16, [0, 0, 0, 128], .damaged("its ciphertext length is not valid")),
        Change(
            "greatest ciphertext length", 16, [UInt8](repeating: 255, count: 4),
            .damaged("its ciphertext length is not valid")),
        Change("slot count 0", 20, [0, 0], .damaged("it has 0 key slots")),
        Change("slot count 2", 20, [2, 0], .damaged("its header length is wrong")),
        Change("slot count 9", 20, [9, 0], .damaged("it has 9 key slots")),
        Change("slot count greatest", 20, [255, 255], .damaged("it has 65535 key slots")),
        Change("first reserved bytes", 22, [1], .unsupported("header extension")),
        Change("reserved bytes at 23", 23, [128], .unsupported("header extension")),
        Change("last reserved bytes", 120, [1], .unsupported("header extension")),
        Change("reserved bytes at 127", 127, [128], .unsupported("header extension")),
    ])
    func `Refuses an invalid header field and names the field`(change: Change) throws {
        let envelope = try SampleArchive().envelope.replacing(at: change.offset, with: change.bytes)
        #expect(throws: change.error) { try Envelope(parsing: envelope) }
    }

    @Test(arguments: [0, 9])
    func `Refuses zero or nine key slots even if the lengths match`(count: Int) throws {
        let sample = try SampleArchive()
        let slot = Array(sample.envelope[128..<288])
        var envelope = Array(sample.envelope[..<128]) + (0..<count).flatMap { _ in slot } + sample.envelope[288...]
        var length: [UInt8] = []
        length.append(littleEndian: UInt32(128 + count * 160))
        envelope = envelope.replacing(at: 12, with: length).replacing(at: 20, with: [UInt8(count), 0])
        #expect(throws: EnvelopeError.damaged("it has \(count) key slots")) { try Envelope(parsing: envelope) }
    }

    @Test(arguments: [0, 15, 16, 17, 527, 529, 1039] as [UInt32])
    func `Refuses a ciphertext with an impossible length`(count: UInt32) throws {
        let sample = try SampleArchive()
        var length: [UInt8] = []
        length.append(littleEndian: count)
        let envelope =
            sample.envelope[..<288] + [UInt8](repeating: 0, count: Int(count)) + [UInt8](repeating: 0, count: 32)
        #expect(throws: EnvelopeError.damaged("its ciphertext length is not valid")) {
            try Envelope(parsing: Array(envelope).replacing(at: 16, with: length))
        }
    }
}
