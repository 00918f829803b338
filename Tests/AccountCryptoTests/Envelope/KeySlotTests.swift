import Testing

@testable import AccountCrypto

struct KeySlotTests {
    private let storeID = [UInt8](repeating: 0x5A, count: 16)
    private let dataKey = GuardedBytes.random(count: 32)

    private func slot(_ opener: KeySlot.Opener, _ kind: KeySlot.Kind) throws(EnvelopeError) -> KeySlot {
        try KeySlot(
            ArchiveKeys.NewSlot(opener: opener, kind: kind, created: 0x0102_0304, cost: SampleArchive.cheapest),
            wrapping: dataKey, storeID: storeID, context: SampleArchive.context)
    }

    @Test(arguments: KeySlot.Kind.allCases)
    func `Unwraps the data key from a key slot of each kind, even after encoding`(kind: KeySlot.Kind) throws {
        let opener = SampleArchive.opener(of: kind)
        let slot = try slot(opener, kind)
        let read = try KeySlot(parsing: slot.bytes[...])
        #expect(read == slot)
        #expect(read.kind == kind)
        #expect((read.cost != nil) == (kind == .passphrase))
        let unwrapped = try read.unwrap(with: opener, storeID: storeID, context: SampleArchive.context)
        #expect(unwrapped.copy == dataKey.copy)
    }

    @Test func `Encodes each key slot field at the offset on the format page`() throws {
        let slot = try slot(SampleArchive.opener(of: .passphrase), .passphrase)
        let bytes = slot.bytes
        #expect(bytes.count == 160)
        #expect(Array(bytes[0..<8]) == [2, 1, 0, 0, 4, 3, 2, 1])
        #expect(Array(bytes[8..<24]) == slot.keyID)
        #expect(Array(bytes[24..<32]) == [1, 0, 0, 0, 0, 0x20, 0, 0])
        #expect(Array(bytes[32..<48]) == slot.salt)
        #expect(Array(bytes[48..<72]) == slot.nonce)
        #expect(Array(bytes[72..<120]) == slot.wrappedKey)
        #expect(Array(bytes[120..<152]) == slot.commitment)
        #expect(Array(bytes[152..<160]) == [0, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test(arguments: KeySlot.Kind.allCases)
    func `Refuses to create a key slot with a key of another kind`(kind: KeySlot.Kind) {
        let unfit: KeySlot.Opener =
            kind == .passphrase ? .key(.random(count: 32)) : .passphrase(GuardedBytes(copying: "passphrase".utf8))
        #expect(throws: EnvelopeError.unfitKey(kind)) { try slot(unfit, kind) }
    }

    @Test(arguments: [0, 1, 31, 33, 64])
    func `Refuses to create or open a key slot with a key of a wrong length`(count: Int) throws {
        let key = KeySlot.Opener.key(.random(count: count))
        #expect(throws: EnvelopeError.unfitKey(.keyFile)) { try slot(key, .keyFile) }
        let fitting = try slot(SampleArchive.opener(of: .keyFile), .keyFile)
        #expect(throws: EnvelopeError.authenticationFailed) {
            try fitting.unwrap(with: key, storeID: storeID, context: SampleArchive.context)
        }
    }

    @Test func `Does not open a key slot in another archive, app or session`() throws {
        let opener = SampleArchive.opener(of: .keyFile)
        let slot = try slot(opener, .keyFile)
        expect(.authenticationFailed) {
            _ = try slot.unwrap(
                with: opener, storeID: [UInt8](repeating: 0x5B, count: 16), context: SampleArchive.context)
        }
        for context in [
            SealingContext(appIdentifier: "com.example.other", sessionName: "default"),
            SealingContext(appIdentifier: "com.example.gists", sessionName: "work"),
        ] {
            expect(.authenticationFailed) { _ = try slot.unwrap(with: opener, storeID: storeID, context: context) }
        }
    }

    @Test(arguments: [0, UInt8(KeySlot.Kind.allCases.count) + 1, 255])
    func `Refuses an unknown key slot type and reports its number`(type: UInt8) throws {
        let bytes = try slot(SampleArchive.opener(of: .keyFile), .keyFile).bytes.replacing(at: 0, with: [type])
        #expect(throws: EnvelopeError.unsupported("key slot type \(type)")) { try KeySlot(parsing: bytes[...]) }
    }

    @Test(arguments: [0, 2, 255] as [UInt8])
    func `Refuses an unknown key slot algorithm and reports its number`(algorithm: UInt8) throws {
        let bytes = try slot(SampleArchive.opener(of: .keyFile), .keyFile).bytes.replacing(at: 1, with: [algorithm])
        #expect(throws: EnvelopeError.unsupported("key slot algorithm \(algorithm)")) {
            try KeySlot(parsing: bytes[...])
        }
    }

    @Test(arguments: [2, 3] + Array(152..<160))
    func `Refuses a key slot with a nonzero reserved byte`(offset: Int) throws {
        let bytes = try slot(SampleArchive.opener(of: .keyFile), .keyFile).bytes.replacing(at: offset, with: [1])
        expect(.unsupported) { _ = try KeySlot(parsing: bytes[...]) }
    }

    @Test(
        arguments: [
            (0, 8192), (11, 8192), (.max, 8192), (1, 0), (1, 8191), (1, 1_048_577), (1, .max), (.max, .max), (0, 0),
        ] as [(UInt32, UInt32)])
    func `Refuses a passphrase cost out of bounds while reading the slot`(
        operations: UInt32, memoryKiB: UInt32
    ) throws {
        var cost: [UInt8] = []
        cost.append(littleEndian: operations)
        cost.append(littleEndian: memoryKiB)
        let sample = try SampleArchive(kinds: [.keyFile, .passphrase])
        let error = EnvelopeError.unsupported("passphrase cost of \(operations) passes over \(memoryKiB) KiB")
        #expect(throws: error) { try Envelope(parsing: sample.envelope.replacing(at: 288 + 24, with: cost)) }
    }

    @Test(arguments: [24, 28])
    func `Refuses a passphrase cost in a key slot without a passphrase`(offset: Int) throws {
        let bytes = try slot(SampleArchive.opener(of: .command), .command).bytes.replacing(at: offset, with: [1])
        expect(.damaged) { _ = try KeySlot(parsing: bytes[...]) }
    }

    @Test func `Creates two slots for the same key with different random values`() throws {
        let opener = SampleArchive.opener(of: .keyFile)
        let slots = [try slot(opener, .keyFile), try slot(opener, .keyFile)]
        #expect(slots[0].keyID != slots[1].keyID)
        #expect(slots[0].salt != slots[1].salt)
        #expect(slots[0].nonce != slots[1].nonce)
        #expect(slots[0].wrappedKey != slots[1].wrappedKey)
        #expect(slots[0].commitment != slots[1].commitment)
    }
}
