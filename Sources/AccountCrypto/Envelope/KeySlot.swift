/// A way to open an archive: the data key, encrypted with a key of one kind. A slot has 160 bytes.
package struct KeySlot: Hashable, Sendable {
    package enum Kind: UInt8, Sendable, CaseIterable {
        case keyFile = 1
        case passphrase = 2
        case command = 3
        case environment = 4
    }

    /// The secret that opens a slot: a key of 32 bytes, or a passphrase from which this key is derived.
    package enum Opener: Sendable {
        case key(GuardedBytes)
        case passphrase(GuardedBytes)

        /// The key that Argon2id derived from a passphrase, valid only for the slot with this key ID.
        case derived(GuardedBytes, keyID: [UInt8])
    }

    package static let byteCount = 160
    static let keyByteCount = 32

    package let kind: Kind

    /// The creation time, in seconds since 1970.
    package let created: UInt32

    /// 16 random bytes that identify the slot.
    package let keyID: [UInt8]

    package let cost: PassphraseCost?
    let salt: [UInt8]
    private(set) var nonce: [UInt8]
    private(set) var wrappedKey: [UInt8] = []
    private(set) var commitment: [UInt8] = []

    init(
        _ new: ArchiveKeys.NewSlot, wrapping dataKey: GuardedBytes, storeID: [UInt8], context: SealingContext
    ) throws(EnvelopeError) {
        // With any other combination, it would be possible to write a slot but not to read it.
        switch new.kind {
        case .passphrase:
            guard case .passphrase = new.opener else { throw .unfitKey(new.kind) }
            cost = new.cost
        case .keyFile, .command, .environment:
            guard case .key(let raw) = new.opener, raw.count == Self.keyByteCount else { throw .unfitKey(new.kind) }
            cost = nil
        }
        kind = new.kind
        created = new.created
        keyID = Sodium.randomBytes(count: 16)
        salt = Sodium.randomBytes(count: 16)
        nonce = Sodium.randomBytes(count: 24)
        try wrap(dataKey, for: new.opener, storeID: storeID, context: context)
    }

    func rewrapping(
        _ dataKey: GuardedBytes, for opener: Opener, storeID: [UInt8], context: SealingContext
    ) throws(EnvelopeError) -> KeySlot {
        var slot = self
        slot.nonce = Sodium.randomBytes(count: 24)
        try slot.wrap(dataKey, for: opener, storeID: storeID, context: context)
        return slot
    }

    private mutating func wrap(
        _ dataKey: GuardedBytes, for opener: Opener, storeID: [UInt8], context: SealingContext
    ) throws(EnvelopeError) {
        let keys = try subkeys(for: opener, storeID: storeID)
        wrappedKey = keys.encrypt(dataKey, nonce: nonce, additionalData: wrapData(storeID: storeID, context: context))
        commitment = keys.commitment(to: commitmentMessage(storeID: storeID, context: context))
    }

    /// Derives the key of this slot from a passphrase (Argon2id), which is the expensive part of opening the slot.
    package func derivedKey(of passphrase: GuardedBytes) throws(EnvelopeError) -> GuardedBytes {
        guard let cost else { throw .authenticationFailed }
        guard let key = cost.key(passphrase: passphrase, salt: salt) else { throw .outOfMemory }
        return key
    }

    init(parsing bytes: ArraySlice<UInt8>) throws(EnvelopeError) {
        var fields = FieldReader(bytes)
        let kindNumber = fields.number(UInt8.self)
        guard let kind = Kind(rawValue: kindNumber) else { throw .unsupported("key slot type \(kindNumber)") }
        self.kind = kind
        let algorithm = fields.number(UInt8.self)
        guard algorithm == 1 else { throw .unsupported("key slot algorithm \(algorithm)") }
        guard fields.number(UInt16.self) == 0 else { throw .unsupported("key slot flags") }
        created = fields.number()
        keyID = fields.bytes(16)
        let operations = fields.number(UInt32.self)
        let memoryKiB = fields.number(UInt32.self)
        salt = fields.bytes(16)
        nonce = fields.bytes(24)
        wrappedKey = fields.bytes(48)
        commitment = fields.bytes(32)
        guard fields.number(UInt64.self) == 0 else { throw .unsupported("key slot extension") }

        if kind == .passphrase {
            guard let cost = PassphraseCost(operations: operations, memoryKiB: memoryKiB) else {
                throw .unsupported("passphrase cost of \(operations) passes over \(memoryKiB) KiB")
            }
            self.cost = cost
        } else {
            guard operations == 0, memoryKiB == 0 else { throw .damaged("a key slot without a passphrase has a cost") }
            cost = nil
        }
    }

    var bytes: [UInt8] { head + wrappedKey + commitment + [UInt8](repeating: 0, count: 8) }

    func unwrap(with opener: Opener, storeID: [UInt8], context: SealingContext) throws(EnvelopeError) -> GuardedBytes {
        let keys = try subkeys(for: opener, storeID: storeID)
        guard Sodium.isEqual(keys.commitment(to: commitmentMessage(storeID: storeID, context: context)), commitment),
            let dataKey = keys.decrypt(
                wrappedKey[...], nonce: nonce, additionalData: wrapData(storeID: storeID, context: context))
        else { throw .authenticationFailed }
        return dataKey
    }

    /// The first 72 bytes: everything except the wrapped key, its commitment and the zeros.
    private var head: [UInt8] {
        var head: [UInt8] = []
        head.reserveCapacity(Self.byteCount)
        head += [kind.rawValue, 1, 0, 0]
        head.append(littleEndian: created)
        head += keyID
        head.append(littleEndian: cost?.operations ?? 0)
        head.append(littleEndian: cost?.memoryKiB ?? 0)
        head += salt
        head += nonce
        return head
    }

    private func subkeys(for opener: Opener, storeID: [UInt8]) throws(EnvelopeError) -> SubkeyPair {
        let key: GuardedBytes
        switch (opener, cost) {
        case (.key(let raw), nil) where raw.count == Self.keyByteCount: key = raw
        case (.passphrase(let passphrase), _?): key = try derivedKey(of: passphrase)
        case (.derived(let derived, keyID), _?) where derived.count == Self.keyByteCount: key = derived
        default: throw .authenticationFailed
        }
        return SubkeyPair(key: key, message: storeID + [kind.rawValue] + salt, purpose: .slot)
    }

    private func wrapData(storeID: [UInt8], context: SealingContext) -> [UInt8] {
        context.bytes + (storeID + head)
    }

    private func commitmentMessage(storeID: [UInt8], context: SealingContext) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(4 + context.bytes.count + Self.byteCount)
        message.append(lengthPrefixed: context.bytes)
        message += storeID
        message += head
        message += wrappedKey
        return message
    }
}
