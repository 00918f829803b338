/// The keys and key slots with which to write an archive again. They stay in memory, so that a save needs no key
/// source.
package struct ArchiveKeys: Sendable {
    package let storeID: [UInt8]
    package let dataKeyID: [UInt8]
    let dataKey: GuardedBytes
    package let slots: [KeySlot]
}

extension ArchiveKeys {
    package struct NewSlot {
        let opener: KeySlot.Opener
        package let kind: KeySlot.Kind
        let created: UInt32
        let cost: PassphraseCost

        /// Creates the description of a new slot. A passphrase slot requires a passphrase, and any other slot requires
        /// a key of exactly 32 bytes. `created` is in seconds since 1970. `cost` applies only to a passphrase.
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
        // Ignore the reason why a slot cannot be opened.
        (try? slot.unwrap(with: opener, storeID: storeID, context: context)) != nil
    }

    package static let slotCounts = EnvelopeHeader.slotCounts

    package init(for new: [NewSlot], context: SealingContext) throws(EnvelopeError) {
        precondition(EnvelopeHeader.slotCounts.contains(new.count))
        let storeID = Sodium.randomBytes(count: 16)
        let dataKey = GuardedBytes.random(count: KeySlot.keyByteCount)
        let slots = try new.map { new throws(EnvelopeError) in
            try KeySlot(new, wrapping: dataKey, storeID: storeID, context: context)
        }
        self.init(storeID: storeID, dataKeyID: Sodium.randomBytes(count: 16), dataKey: dataKey, slots: slots)
    }

    package func adding(_ new: NewSlot, context: SealingContext) throws(EnvelopeError) -> ArchiveKeys {
        precondition(EnvelopeHeader.slotCounts.contains(slots.count + 1))
        let slot = try KeySlot(new, wrapping: dataKey, storeID: storeID, context: context)
        return ArchiveKeys(storeID: storeID, dataKeyID: dataKeyID, dataKey: dataKey, slots: slots + [slot])
    }

    /// Returns keys with a new data key and with the slots to keep. An attacker who obtained the old data key from a
    /// removed slot cannot read archives that are written with the new keys.
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

    /// - Parameter salt: A different salt for each write.
    func fileKeys(salt: [UInt8]) -> SubkeyPair {
        SubkeyPair(key: dataKey, message: salt + storeID + dataKeyID, purpose: .file)
    }
}
