/// What it takes to write an archive again: its lineage, its data key, and the slots that open it.
///
/// Kept while an archive is in use, so that a save asks for no key.
package struct ArchiveKeys: Sendable {
    package let storeID: [UInt8]
    package let dataKeyID: [UInt8]
    let dataKey: GuardedBytes
    package let slots: [KeySlot]
}

extension ArchiveKeys {
    /// A key slot that is still to be made.
    package struct NewSlot {
        let opener: KeySlot.Opener
        package let kind: KeySlot.Kind
        let created: UInt32
        let cost: PassphraseCost

        /// - Parameters:
        ///   - opener: A passphrase for a slot of that kind, a key of exactly 32 bytes for any other.
        ///   - created: Seconds since 1970.
        ///   - cost: For a passphrase only.
        package init(
            opener: KeySlot.Opener, kind: KeySlot.Kind, created: UInt32, cost: PassphraseCost = .moderate
        ) {
            self.opener = opener
            self.kind = kind
            self.created = created
            self.cost = cost
        }
    }

    package func isOfSameData(as envelope: Envelope) -> Bool {
        storeID == envelope.storeID && dataKeyID == envelope.dataKeyID
    }

    package func isOpened(_ slot: KeySlot, by opener: KeySlot.Opener, context: SealingContext) -> Bool {
        // Why it does not open is nobody's concern.
        (try? slot.unwrap(with: opener, storeID: storeID, context: context)) != nil
    }

    package static let slotCounts = EnvelopeHeader.slotCounts

    /// A new lineage with a new data key, which each of the new slots opens.
    package init(for new: [NewSlot], context: SealingContext) throws(EnvelopeError) {
        precondition(EnvelopeHeader.slotCounts.contains(new.count))
        let storeID = Sodium.randomBytes(count: 16)
        let dataKey = GuardedBytes.random(count: KeySlot.keyByteCount)
        let slots = try new.map { new throws(EnvelopeError) in
            try KeySlot(new, wrapping: dataKey, storeID: storeID, context: context)
        }
        self.init(storeID: storeID, dataKeyID: Sodium.randomBytes(count: 16), dataKey: dataKey, slots: slots)
    }

    /// The same with one slot more; the data key stays.
    package func adding(_ new: NewSlot, context: SealingContext) throws(EnvelopeError) -> ArchiveKeys {
        precondition(EnvelopeHeader.slotCounts.contains(slots.count + 1))
        let slot = try KeySlot(new, wrapping: dataKey, storeID: storeID, context: context)
        return ArchiveKeys(storeID: storeID, dataKeyID: dataKeyID, dataKey: dataKey, slots: slots + [slot])
    }

    /// A new data key, which only these slots open: whoever knows the old one, from a slot that is removed, cannot read
    /// what is written from now on.
    package func renewing(
        keeping kept: [(slot: KeySlot, opener: KeySlot.Opener)], context: SealingContext
    ) throws(EnvelopeError) -> ArchiveKeys {
        precondition(!kept.isEmpty)
        let dataKey = GuardedBytes.random(count: KeySlot.keyByteCount)
        let slots = try kept.map { kept throws(EnvelopeError) in
            try kept.slot.rewrapping(dataKey, for: kept.opener, storeID: storeID, context: context)
        }
        return ArchiveKeys(
            storeID: storeID, dataKeyID: Sodium.randomBytes(count: 16), dataKey: dataKey, slots: slots)
    }

    /// - Parameter salt: Another one each write.
    func fileKeys(salt: [UInt8]) -> SubkeyPair {
        SubkeyPair(key: dataKey, message: salt + storeID + dataKeyID, purpose: .file)
    }
}
