import Testing

@testable import AccountCrypto

/// Which keys, contexts and places open an envelope. ``TamperingTests`` has changed bytes, and ``KeySlotTests`` the slots.
struct EnvelopeTests {
    // MARK: Opening

    @Test(arguments: [0, 1, 100, 511, 512, 513, 100_000])
    func `Returns the payload of an archive unchanged`(count: Int) throws {
        let payload = Sodium.randomBytes(count: count)
        let sample = try SampleArchive(payload: payload)
        #expect(try sample.read(sample.file) == payload)
    }

    @Test(arguments: KeySlot.Kind.allCases)
    func `Opens an archive with each of its key slots`(kind: KeySlot.Kind) throws {
        let sample = try SampleArchive(kinds: KeySlot.Kind.allCases)
        #expect(try Envelope(parsing: sample.envelope).slots.map(\.kind) == KeySlot.Kind.allCases)
        #expect(try sample.read(sample.file, kind: kind) == sample.payload)
    }

    @Test func `Accepts eight key slots in an archive`() throws {
        let sample = try SampleArchive(kinds: Array(repeating: .keyFile, count: 7) + [.command])
        #expect(try sample.read(sample.file, kind: .command) == sample.payload)
    }

    @Test func `Opens an archive that is bound to a place only at that place`() throws {
        func context(_ place: String?) -> SealingContext {
            SealingContext(appIdentifier: "com.example.gists", sessionName: "default", place: place)
        }
        let sample = try SampleArchive()
        let bound = try Envelope(
            parsing: Envelope.seal(sample.plaintext, generation: 1, keys: sample.keys, context: context("team")))
        let opener = try #require(sample.openers[.keyFile])
        #expect(bound.slots == sample.keys.slots)
        for place in ["team", "team2", "", nil] {
            let keys = try bound.unlock(with: opener, kind: .keyFile, context: context(place))
            if place == "team" {
                #expect(try bound.payload(with: keys, context: context(place)) == sample.payload)
            } else {
                #expect(throws: EnvelopeError.authenticationFailed) {
                    try bound.payload(with: keys, context: context(place))
                }
            }
        }
        let unbound = try Envelope(parsing: sample.envelope)
        #expect(throws: EnvelopeError.authenticationFailed) {
            try unbound.payload(with: sample.keys, context: context("team"))
        }
    }

    // MARK: Failing to open

    @Test func `Does not open an archive with a wrong key`() throws {
        let sample = try SampleArchive()
        #expect(throws: EnvelopeError.authenticationFailed) {
            try sample.read(sample.file, opener: .key(.random(count: 32)))
        }
    }

    @Test(arguments: ["", "Correct horse battery staple", "correct horse battery staple\n"])
    func `Does not open an archive with a wrong passphrase`(passphrase: String) throws {
        let sample = try SampleArchive(kinds: [.passphrase])
        #expect(throws: EnvelopeError.authenticationFailed) {
            try sample.read(
                sample.file, kind: .passphrase, opener: .passphrase(GuardedBytes(copying: passphrase.utf8)))
        }
    }

    @Test(arguments: [
        ("com.example.gist", "default"), ("com.example.gists", "work"), ("com.example.gists", "Default"),
        ("com.example.gistsd", "efault"), ("", ""),
    ])
    func `Does not open another app's or session's archive with the right key`(app: String, session: String) throws {
        let sample = try SampleArchive()
        let context = SealingContext(appIdentifier: app, sessionName: session)
        #expect(throws: EnvelopeError.authenticationFailed) { try sample.read(sample.file, context: context) }
        #expect(throws: EnvelopeError.authenticationFailed) {
            try Envelope(parsing: sample.envelope).payload(with: sample.keys, context: context)
        }
    }

    @Test func `Does not open an archive with the keys of another archive`() throws {
        let sample = try SampleArchive()
        let other = try SampleArchive()
        #expect(throws: EnvelopeError.authenticationFailed) {
            try Envelope(parsing: sample.envelope).payload(with: other.keys)
        }
        let sameNames = ArchiveKeys(
            storeID: sample.keys.storeID, dataKeyID: sample.keys.dataKeyID, dataKey: .random(count: 32),
            slots: sample.keys.slots)
        #expect(throws: EnvelopeError.authenticationFailed) {
            try Envelope(parsing: sample.envelope).payload(with: sameNames)
        }
    }

    @Test func `Detects parts of another write of the same archive`() throws {
        let sample = try SampleArchive()
        let next = Envelope.seal(sample.plaintext, generation: 2, keys: sample.keys, context: SampleArchive.context)
        // Generation, salt, nonce, ciphertext, commitment.
        for range in [24..<32, 64..<96, 96..<120, 288..<816, 816..<848] {
            let mixed = sample.envelope.replacing(at: range.lowerBound, with: Array(next[range]))
            #expect(throws: EnvelopeError.authenticationFailed) {
                try Envelope(parsing: mixed).payload(with: sample.keys)
            }
        }
    }

    @Test func `Detects reordered key slots`() throws {
        let sample = try SampleArchive(kinds: [.keyFile, .command])
        let bytes = sample.envelope
        let changed = Array(bytes[..<128] + bytes[288..<448] + bytes[128..<288] + bytes[448...])
        for kind in [KeySlot.Kind.keyFile, .command] {
            #expect(throws: EnvelopeError.authenticationFailed) {
                try sample.read(ArchivePropertyList.encode(sealed: changed), kind: kind)
            }
        }
    }

    @Test func `Refuses an archive whose plaintext has no padding`() throws {
        let sample = try SampleArchive()
        for bytes in [[UInt8](repeating: 0, count: 512), [UInt8](repeating: 0xFF, count: 512)] {
            let sealed = Envelope.seal(
                GuardedBytes(copying: bytes), generation: 1, keys: sample.keys, context: SampleArchive.context)
            #expect(throws: EnvelopeError.damaged("its padding is not valid")) {
                try Envelope(parsing: sealed).payload(with: sample.keys)
            }
        }
    }

    // MARK: Visible content

    @Test func `Writes the same plaintext with different random parts each time`() throws {
        let sample = try SampleArchive()
        let first = sample.envelope
        let second = Envelope.seal(sample.plaintext, generation: 1, keys: sample.keys, context: SampleArchive.context)
        #expect(first[..<64] == second[..<64], "the version, lengths, generation and IDs are the same")
        #expect(first[64..<96] != second[64..<96], "salt")
        #expect(first[96..<120] != second[96..<120], "nonce")
        #expect(first[120..<288] == second[120..<288], "the slot is the same")
        #expect(first[288..<816] != second[288..<816], "ciphertext")
        #expect(first[816...] != second[816...], "commitment")
    }

    @Test(arguments: [(0, 512), (1, 512), (511, 512), (512, 1024), (1023, 1024), (1024, 1536)])
    func `Pads a plaintext by 1 to 512 bytes`(count: Int, padded: Int) throws {
        #expect(Envelope.paddedByteCount(count) == padded)
        let file = try SampleArchive(payload: [UInt8](repeating: 1, count: count)).file
        #expect(file.count == 66 + 128 + 160 + padded + 16 + 32 + 60)
    }

    @Test func `Leaves no part of the payload legible in an archive`() throws {
        let payload = Array("a payload that is long enough to be found".utf8)
        let sample = try SampleArchive(payload: payload)
        for start in 0...payload.count - 4 {
            #expect(!sample.file.contains(payload[start..<start + 4]))
        }
    }
}
