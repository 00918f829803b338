import Testing

@testable import AccountCrypto

/// An archive for tests, with a slot for each of the given kinds and a payload.
struct SampleArchive {
    static let context = SealingContext(appIdentifier: "com.example.gists", sessionName: "default")
    static let cheapest = PassphraseCost(operations: 1, memoryKiB: 8 * 1024)!
    static let passphrase = "correct horse battery staple"

    let openers: [KeySlot.Kind: KeySlot.Opener]
    let keys: ArchiveKeys
    let plaintext: GuardedBytes
    let payload: [UInt8]

    let envelope: [UInt8]

    /// The bytes of the property list around the envelope.
    var file: [UInt8] { ArchivePropertyList.encode(sealed: envelope) }

    init(kinds: [KeySlot.Kind] = [.keyFile], payload: [UInt8] = Array("payload".utf8)) throws {
        let storeID = Sodium.randomBytes(count: 16)
        let dataKey = GuardedBytes.random(count: 32)
        var openers: [KeySlot.Kind: KeySlot.Opener] = [:]
        var slots: [KeySlot] = []
        for kind in kinds {
            let opener = openers[kind] ?? Self.opener(of: kind)
            openers[kind] = opener
            slots.append(
                try KeySlot(
                    ArchiveKeys.NewSlot(opener: opener, kind: kind, created: 1_767_323_045, cost: Self.cheapest),
                    wrapping: dataKey, storeID: storeID, context: Self.context))
        }
        self.openers = openers
        self.payload = payload
        keys = ArchiveKeys(
            storeID: storeID, dataKeyID: Sodium.randomBytes(count: 16), dataKey: dataKey, slots: slots)
        plaintext = Self.padded(payload)
        envelope = Envelope.seal(plaintext, generation: 1, keys: keys, context: Self.context)
    }

    /// Returns a passphrase for the kind `passphrase`, or 32 random bytes for any other kind.
    static func opener(of kind: KeySlot.Kind) -> KeySlot.Opener {
        kind == .passphrase ? .passphrase(GuardedBytes(copying: passphrase.utf8)) : .key(.random(count: 32))
    }

    static func padded(_ payload: [UInt8]) -> GuardedBytes {
        GuardedBytes(count: Envelope.paddedByteCount(payload.count)) { buffer in
            buffer.copyBytes(from: payload)
            Envelope.pad(buffer, count: payload.count)
        }
    }

    /// Reads a file like the archive, from its first byte to the payload.
    func read(
        _ file: [UInt8], kind: KeySlot.Kind = .keyFile, opener: KeySlot.Opener? = nil,
        context: SealingContext = Self.context
    ) throws(EnvelopeError) -> [UInt8] {
        let envelope = try Envelope(parsing: try ArchivePropertyList.decode(file))
        let opener = opener ?? openers[kind] ?? Self.opener(of: kind)
        let keys = try envelope.unlock(with: opener, kind: kind, context: context)
        return try envelope.payload(with: keys, context: context)
    }
}

extension Envelope {
    /// Returns the keys that an opener unlocks from one of the slots of a kind.
    func unlock(
        with opener: KeySlot.Opener, kind: KeySlot.Kind, context: SealingContext
    ) throws(EnvelopeError) -> ArchiveKeys {
        for slot in slots where slot.kind == kind {
            do throws(EnvelopeError) {
                return try unlock(slot, with: opener, context: context)
            } catch .authenticationFailed {
                continue
            }
        }
        throw .authenticationFailed
    }

    func payload(
        with keys: ArchiveKeys, context: SealingContext = SampleArchive.context
    ) throws(EnvelopeError) -> [UInt8] {
        let (plaintext, count) = try open(with: keys, context: context)
        return plaintext.withUnsafeBytes { Array($0.prefix(count)) }
    }
}

extension EnvelopeError {
    /// An error without its details.
    enum Category {
        case damaged, unsupported, authenticationFailed, unfitKey, outOfMemory
    }

    var category: Category {
        switch self {
        case .damaged: .damaged
        case .unsupported: .unsupported
        case .authenticationFailed: .authenticationFailed
        case .unfitKey: .unfitKey
        case .outOfMemory: .outOfMemory
        }
    }
}

func expect(
    _ category: EnvelopeError.Category, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) {
    #expect(sourceLocation: sourceLocation) {
        try body()
    } throws: { error in
        (error as? EnvelopeError)?.category == category
    }
}

extension [UInt8] {
    /// Creates bytes from hexadecimal digits. Ignores spaces and line breaks.
    init(hex: String) {
        let digits = hex.filter { !$0.isWhitespace }.map { UInt8($0.hexDigitValue!) }
        precondition(digits.count.isMultiple(of: 2))
        self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Returns a copy with `bytes` from `offset` on.
    func replacing(at offset: Int, with bytes: [UInt8]) -> [UInt8] {
        var changed = self
        changed.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        return changed
    }
}

extension GuardedBytes {
    var copy: [UInt8] { withUnsafeBytes { Array($0) } }
}
