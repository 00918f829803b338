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

    /// A way into an archive that is to be made.
    package struct NewSlot {
        /// A passphrase for a slot of that kind, a key of exactly 32 bytes for any other.
        package var opener: KeySlot.Opener
        package var kind: KeySlot.Kind

        /// Seconds since 1970.
        package var created: UInt32

        /// For a passphrase only.
        package var cost: PassphraseCost

        package init(
            opener: KeySlot.Opener, kind: KeySlot.Kind, created: UInt32, cost: PassphraseCost = .moderate
        ) {
            self.opener = opener
            self.kind = kind
            self.created = created
            self.cost = cost
        }

        fileprivate func slot(
            wrapping dataKey: GuardedBytes, storeID: [UInt8], context: SealingContext
        ) throws(EnvelopeError) -> KeySlot {
            try KeySlot(
                wrapping: dataKey, for: opener, kind: kind, created: created, cost: cost, storeID: storeID,
                context: context)
        }
    }

    /// Whether what these keys seal has the data key of an envelope.
    package func isOfSameData(as envelope: Envelope) -> Bool {
        storeID == envelope.storeID && dataKeyID == envelope.dataKeyID
    }

    /// Whether this opens a slot. Why it does not is nobody's concern.
    package func isOpened(_ slot: KeySlot, by opener: KeySlot.Opener, context: SealingContext) -> Bool {
        (try? slot.unwrap(with: opener, storeID: storeID, context: context)) != nil
    }

    /// How many slots there may be.
    package static let slotCounts = EnvelopeHeader.slotCounts

    /// A new lineage with a new data key, which each of the new slots opens.
    package init(for new: [NewSlot], context: SealingContext) throws(EnvelopeError) {
        precondition(EnvelopeHeader.slotCounts.contains(new.count))
        let storeID = Sodium.randomBytes(count: 16)
        let dataKey = GuardedBytes.random(count: KeySlot.keyByteCount)
        var slots: [KeySlot] = []
        for new in new {
            slots.append(try new.slot(wrapping: dataKey, storeID: storeID, context: context))
        }
        self.init(storeID: storeID, dataKeyID: Sodium.randomBytes(count: 16), dataKey: dataKey, slots: slots)
    }

    /// The same with one slot more; the data key stays.
    package func adding(_ new: NewSlot, context: SealingContext) throws(EnvelopeError) -> ArchiveKeys {
        precondition(EnvelopeHeader.slotCounts.contains(slots.count + 1))
        let slot = try new.slot(wrapping: dataKey, storeID: storeID, context: context)
        return ArchiveKeys(storeID: storeID, dataKeyID: dataKeyID, dataKey: dataKey, slots: slots + [slot])
    }

    /// A new data key for the same lineage, which these of its slots open and no others: whoever had a way in that is no
    /// longer there, and the data key from then, cannot read what is written from now on.
    package func renewing(
        keeping kept: [(slot: KeySlot, opener: KeySlot.Opener)], context: SealingContext
    ) throws(EnvelopeError) -> ArchiveKeys {
        precondition(!kept.isEmpty)
        let dataKey = GuardedBytes.random(count: KeySlot.keyByteCount)
        var slots: [KeySlot] = []
        for (slot, opener) in kept {
            slots.append(try slot.rewrapping(dataKey, for: opener, storeID: storeID, context: context))
        }
        return ArchiveKeys(
            storeID: storeID, dataKeyID: Sodium.randomBytes(count: 16), dataKey: dataKey, slots: slots)
    }

    /// The keys of one write: from the data key and that write's salt.
    func fileKeys(salt: [UInt8]) -> SubkeyPair {
        SubkeyPair(key: dataKey, message: salt + storeID + dataKeyID, purpose: .file)
    }
}
