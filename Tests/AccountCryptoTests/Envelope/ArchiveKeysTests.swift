import Testing

@testable import AccountCrypto

struct ArchiveKeysTests {
    private let context = SampleArchive.context
    private let first = SampleArchive.opener(of: .keyFile)
    private let second = SampleArchive.opener(of: .command)
    private let passphrase = SampleArchive.opener(of: .passphrase)

    private func new(_ opener: KeySlot.Opener, _ kind: KeySlot.Kind) -> ArchiveKeys.NewSlot {
        .init(opener: opener, kind: kind, created: 7, cost: SampleArchive.cheapest)
    }

    private func envelope(_ keys: ArchiveKeys) throws -> Envelope {
        try Envelope(
            parsing: Envelope.seal(SampleArchive.padded([1, 2]), generation: 1, keys: keys, context: context))
    }

    @Test func `Opens the same data with an additional key slot`() throws {
        let keys = try ArchiveKeys(for: [new(first, .keyFile)], context: context)
        let both = try keys.adding(new(second, .command), context: context)
        #expect(both.dataKeyID == keys.dataKeyID)
        #expect(both.slots.first == keys.slots.first)
        let envelope = try envelope(both)
        for (opener, kind) in [(first, KeySlot.Kind.keyFile), (second, .command)] {
            let unlocked = try envelope.unlock(with: opener, kind: kind, context: context)
            #expect(try envelope.payload(with: unlocked) == [1, 2])
        }
    }

    @Test func `Renews the data key and keeps the other slots' ids on key removal`() throws {
        let keys = try ArchiveKeys(
            for: [new(first, .keyFile), new(second, .command), new(passphrase, .passphrase)], context: context)
        let slots = keys.slots
        let renewed = try keys.renewing(keeping: [(slots[1], second), (slots[2], passphrase)], context: context)
        #expect(renewed.storeID == keys.storeID)
        #expect(renewed.dataKeyID != keys.dataKeyID)
        #expect(renewed.slots.map(\.keyID) == [slots[1].keyID, slots[2].keyID])
        for (slot, before) in zip(renewed.slots, slots.dropFirst()) {
            #expect(slot.nonce != before.nonce)
            #expect(slot.wrappedKey != before.wrappedKey)
            #expect(slot.created == before.created)
        }

        let envelope = try envelope(renewed)
        #expect(!envelope.slots.contains { $0.kind == .keyFile })
        for slot in envelope.slots {
            #expect(throws: EnvelopeError.authenticationFailed) {
                try envelope.unlock(slot, with: first, context: context)
            }
        }
        // The old data key cannot read new writes, even under the new key's name.
        let renamed = ArchiveKeys(
            storeID: renewed.storeID, dataKeyID: renewed.dataKeyID, dataKey: keys.dataKey, slots: renewed.slots)
        #expect(throws: EnvelopeError.authenticationFailed) { try envelope.payload(with: keys) }
        #expect(throws: EnvelopeError.authenticationFailed) { try envelope.payload(with: renamed) }
        for (opener, kind) in [(second, KeySlot.Kind.command), (passphrase, .passphrase)] {
            let unlocked = try envelope.unlock(with: opener, kind: kind, context: context)
            #expect(try envelope.payload(with: unlocked) == [1, 2])
        }
    }

    @Test func `Opens only its own slot with a key derived from a passphrase`()
        throws
    {
        let keys = try ArchiveKeys(
            for: [new(passphrase, .passphrase), new(passphrase, .passphrase), new(second, .command)], context: context)
        guard case .passphrase(let text) = passphrase else { preconditionFailure() }
        let derived = try keys.slots[0].derivedKey(of: text)
        let opener = KeySlot.Opener.derived(derived, keyID: keys.slots[0].keyID)
        let renewed = try keys.renewing(
            keeping: [(keys.slots[0], opener), (keys.slots[1], passphrase)], context: context)
        let envelope = try envelope(renewed)
        #expect(
            try envelope.payload(with: try envelope.unlock(envelope.slots[0], with: opener, context: context)) == [
                1, 2,
            ])
        for other in [envelope.slots[1], keys.slots[2]] {
            #expect(throws: EnvelopeError.authenticationFailed) {
                try envelope.unlock(other, with: opener, context: context)
            }
        }
        #expect(throws: EnvelopeError.authenticationFailed) { try keys.slots[2].derivedKey(of: text) }
    }
}
