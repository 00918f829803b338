/// What it takes to write an archive again: its lineage, its data key, and the slots that open it.
///
/// Kept while an archive is in use, so that a save asks for no key.
package struct ArchiveKeys: Sendable {
    package let storeID: [UInt8]
    package let dataKeyID: [UInt8]
    package let slots: [KeySlot]
    private let dataKey: GuardedBytes

    init(storeID: [UInt8], dataKeyID: [UInt8], dataKey: GuardedBytes, slots: [KeySlot]) {
        self.storeID = storeID
        self.dataKeyID = dataKeyID
        self.dataKey = dataKey
        self.slots = slots
    }

    /// A new lineage with a new data key, which `opener` opens.
    ///
    /// - Parameters:
    ///   - opener: A passphrase for a slot of that kind, a key of exactly 32 bytes for any other.
    ///   - created: Seconds since 1970.
    package init(
        for opener: KeySlot.Opener, kind: KeySlot.Kind, created: UInt32, cost: PassphraseCost = .moderate,
        context: SealingContext
    ) throws(EnvelopeError) {
        let storeID = Sodium.randomBytes(count: 16)
        let dataKey = GuardedBytes.random(count: KeySlot.keyByteCount)
        let slot = try KeySlot(
            wrapping: dataKey, for: opener, kind: kind, created: created, cost: cost, storeID: storeID,
            context: context)
        self.init(storeID: storeID, dataKeyID: Sodium.randomBytes(count: 16), dataKey: dataKey, slots: [slot])
    }

    /// The keys of one write: from the data key and that write's salt.
    func fileKeys(salt: [UInt8]) -> SubkeyPair {
        SubkeyPair(key: dataKey, message: salt + storeID + dataKeyID, purpose: .file)
    }
}
