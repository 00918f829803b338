import Testing

@testable import AccountCrypto

/// Archive files with changed bytes.
struct TamperingTests {
    /// A part of the file, and the possible errors of a change in it.
    struct Field: CustomTestStringConvertible, Sendable {
        let name: String
        let range: Range<Int>
        let outcomes: Set<EnvelopeError.Category>

        var testDescription: String { name }
    }

    /// All parts of a file with two slots, for a key file and a passphrase, and a payload of one block.
    static let fields: [Field] = {
        let slot: [(String, Int, Set<EnvelopeError.Category>)] = [
            ("algorithm", 1, [.unsupported]), ("reserved bytes", 2, [.unsupported]),
            ("date", 4, [.authenticationFailed]), ("key id", 16, [.authenticationFailed]),
        ]
        let slotEnd: [(String, Int, Set<EnvelopeError.Category>)] = [
            ("salt", 16, [.authenticationFailed]), ("nonce", 24, [.authenticationFailed]),
            ("wrapped key", 48, [.authenticationFailed]), ("commitment", 32, [.authenticationFailed]),
            ("last reserved bytes", 8, [.unsupported]),
        ]
        let prefixed = { (prefix: String, fields: [(String, Int, Set<EnvelopeError.Category>)]) in
            fields.map { (prefix + $0.0, $0.1, $0.2) }
        }
        var all: [(String, Int, Set<EnvelopeError.Category>)] = [
            ("property list, objects before the version", 59, [.damaged]),
            ("property list, version", 1, [.unsupported]),
            ("property list, length of the data", 6, [.damaged]),
            ("magic", 8, [.damaged]), ("version", 2, [.unsupported]), ("suite", 1, [.unsupported]),
            ("flags", 1, [.unsupported, .authenticationFailed]), ("header length", 4, [.damaged]),
            ("ciphertext length", 4, [.damaged]),
            ("slot count", 2, [.damaged]), ("reserved bytes", 2, [.unsupported]),
            ("generation", 8, [.authenticationFailed]), ("store id", 16, [.authenticationFailed]),
            ("data-key id", 16, [.authenticationFailed]), ("salt", 32, [.authenticationFailed]),
            ("nonce", 24, [.authenticationFailed]), ("last reserved bytes", 8, [.unsupported]),
        ]
        all.append(("key file slot, type", 1, [.unsupported, .authenticationFailed]))
        all += prefixed("key file slot, ", slot)
        all.append(("key file slot, cost", 8, [.damaged]))
        all += prefixed("key file slot, ", slotEnd)
        all.append(("passphrase slot, type", 1, [.unsupported, .damaged]))
        all += prefixed("passphrase slot, ", slot)
        all.append(("passphrase slot, cost", 8, [.unsupported, .authenticationFailed]))
        all += prefixed("passphrase slot, ", slotEnd)
        all += [
            ("ciphertext", 512, [.authenticationFailed]), ("tag", 16, [.authenticationFailed]),
            ("commitment", 32, [.authenticationFailed]), ("property list, end", 60, [.damaged]),
        ]
        var offset = 0
        return all.map { name, count, outcomes in
            defer { offset += count }
            return Field(name: name, range: offset..<offset + count, outcomes: outcomes)
        }
    }()

    private let sample: SampleArchive

    init() throws {
        sample = try SampleArchive(kinds: [.keyFile, .passphrase])
    }

    @Test func `Covers the whole archive file with the fields that the tests change`() {
        #expect(Self.fields.last?.range.upperBound == sample.file.count)
        #expect(Self.fields.reduce(0) { $0 + $1.range.count } == sample.file.count)
    }

    @Test(arguments: fields)
    func `Detects every flipped bit of an archive, by opener and by known keys`(field: Field) throws {
        let file = sample.file
        for offset in field.range {
            for bit in 0..<8 {
                var changed = file
                changed[offset] ^= 1 << bit
                let place = Comment(rawValue: "bit \(bit) of byte \(offset)")
                #expect(refuses(changed, as: field.outcomes), place)
                #expect(refuses(changed, as: field.outcomes.union([.authenticationFailed]), keys: sample.keys), place)
            }
        }
    }

    @Test func `Rejects every truncated archive file as damaged`() {
        let file = sample.file
        for count in 0..<file.count {
            #expect(refuses(Array(file.prefix(count)), as: [.damaged]), "\(count) bytes")
        }
    }

    @Test func `Rejects every truncated envelope in a whole property list as damaged`() {
        for count in 0..<sample.envelope.count {
            let file = ArchivePropertyList.encode(sealed: Array(sample.envelope.prefix(count)))
            #expect(refuses(file, as: [.damaged]), "\(count) bytes")
        }
    }

    @Test(arguments: [1, 2, 32, 160, 512, 4096], [0, 0x80, 0xFF] as [UInt8])
    func `Rejects bytes after the end of an archive as damaged`(count: Int, byte: UInt8) {
        let more = [UInt8](repeating: byte, count: count)
        #expect(refuses(sample.file + more, as: [.damaged]))
        #expect(refuses(ArchivePropertyList.encode(sealed: sample.envelope + more), as: [.damaged]))
    }

    @Test(arguments: [1, 66, 128, 194])
    func `Rejects an archive file without its first bytes as damaged`(count: Int) {
        #expect(refuses(Array(sample.file.dropFirst(count)), as: [.damaged]))
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `Never opens an archive with random changes, and never crashes`(seed: UInt64) {
        var random = SplitMix(state: seed)
        for _ in 0..<500 {
            var file = sample.file
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                // Half of the changes affect the numbers: the length in the property list, header and slots.
                let range = Bool.random(using: &random) ? 58..<514 : 0..<file.count
                let offset = Int.random(in: range, using: &random)
                file[offset] = Bool.random(using: &random) ? 0xFF : UInt8.random(in: 0...255, using: &random)
            }
            if file == sample.file { continue }
            #expect(refuses(file, as: [.damaged, .unsupported, .authenticationFailed]))
        }
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `Rejects random bytes in place of an archive as damaged`(seed: UInt64) {
        var random = SplitMix(state: seed)
        for _ in 0..<200 {
            let count = Int.random(in: 0...600, using: &random)
            let noise = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(refuses(noise, as: [.damaged]))
            #expect(refuses(ArchivePropertyList.encode(sealed: noise), as: [.damaged]))
        }
    }

    // MARK: Helpers

    /// Returns whether a file fails to open with an error of one of the categories.
    ///
    /// - Parameter keys: Known keys. By default, the key file opens the archive.
    private func refuses(
        _ file: [UInt8], as categories: Set<EnvelopeError.Category>, keys: ArchiveKeys? = nil
    ) -> Bool {
        do throws(EnvelopeError) {
            if let keys {
                _ = try Envelope(parsing: try ArchivePropertyList.decode(file)).payload(with: keys)
            } else {
                _ = try sample.read(file)
            }
            return false
        } catch {
            return categories.contains(error.category)
        }
    }
}

/// Reproducible pseudorandom numbers. Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators"
/// (2014).
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var result = state
        result = (result ^ (result >> 30)) &* 0xBF58_476D_1CE4_E5B9
        result = (result ^ (result >> 27)) &* 0x94D0_49BB_1331_11EB
        return result ^ (result >> 31)
    }
}
