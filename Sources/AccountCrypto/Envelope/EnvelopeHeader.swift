struct EnvelopeHeader: Hashable, Sendable {
    static let byteCount = 128
    static let magic: [UInt8] = Array("ACCT\r\n".utf8) + [0x1A, 0x0A]
    static let slotCounts = 1...8

    private static let boundFlag: UInt8 = 1

    /// Whether the ciphertext is bound to a place in a shared store (flag 1).
    var isBoundToPlace: Bool

    var ciphertextByteCount: Int
    var slotCount: Int

    /// A number that increases by one with each write of the archive.
    var generation: UInt64

    /// Random bytes that identify the archive and stay the same in all its versions.
    var storeID: [UInt8]
    var dataKeyID: [UInt8]

    /// Random bytes that differ in each write, as does the nonce.
    var salt: [UInt8]
    var nonce: [UInt8]

    var prefixByteCount: Int { Self.byteCount + slotCount * KeySlot.byteCount }

    init(
        slotCount: Int, ciphertextByteCount: Int, generation: UInt64, storeID: [UInt8], dataKeyID: [UInt8],
        isBoundToPlace: Bool = false
    ) {
        self.isBoundToPlace = isBoundToPlace
        self.ciphertextByteCount = ciphertextByteCount
        self.slotCount = slotCount
        self.generation = generation
        self.storeID = storeID
        self.dataKeyID = dataKeyID
        salt = Sodium.randomBytes(count: 32)
        nonce = Sodium.randomBytes(count: 24)
    }

    init(parsing bytes: [UInt8]) throws(EnvelopeError) {
        guard bytes.starts(with: Self.magic) else {
            throw .damaged("it does not begin with the magic number of an envelope")
        }
        guard bytes.count >= Self.byteCount else { throw .damaged("its header is truncated") }
        var fields = FieldReader(bytes[Self.magic.count...])
        let version = fields.number(UInt16.self)
        guard version == 1 else { throw .unsupported("envelope version \(version)") }
        let suite = fields.number(UInt8.self)
        guard suite == 1 else { throw .unsupported("cipher suite \(suite)") }
        let flags = fields.number(UInt8.self)
        guard flags & ~Self.boundFlag == 0 else { throw .unsupported("flags \(flags)") }
        isBoundToPlace = flags == Self.boundFlag
        let prefixByteCount = Int(clamping: fields.number(UInt32.self))
        ciphertextByteCount = Int(clamping: fields.number(UInt32.self))
        slotCount = Int(fields.number(UInt16.self))
        guard fields.number(UInt16.self) == 0 else { throw .unsupported("header extension") }
        generation = fields.number()
        storeID = fields.bytes(16)
        dataKeyID = fields.bytes(16)
        salt = fields.bytes(32)
        nonce = fields.bytes(24)
        guard fields.number(UInt64.self) == 0 else { throw .unsupported("header extension") }
        guard Self.slotCounts.contains(slotCount) else { throw .damaged("it has \(slotCount) key slots") }
        guard prefixByteCount == self.prefixByteCount else { throw .damaged("its header length is wrong") }
        guard ciphertextByteCount <= ArchivePropertyList.maximumByteCount else {
            throw .damaged("its ciphertext length is not valid")
        }
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(prefixByteCount)
        bytes += Self.magic
        bytes.append(littleEndian: UInt16(1))
        bytes += [1, isBoundToPlace ? Self.boundFlag : 0]
        bytes.append(littleEndian: UInt32(prefixByteCount))
        bytes.append(littleEndian: UInt32(ciphertextByteCount))
        bytes.append(littleEndian: UInt16(slotCount))
        bytes.append(littleEndian: UInt16(0))
        bytes.append(littleEndian: generation)
        bytes += storeID
        bytes += dataKeyID
        bytes += salt
        bytes += nonce
        bytes.append(littleEndian: UInt64(0))
        return bytes
    }
}
