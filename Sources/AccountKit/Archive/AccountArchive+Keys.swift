import Sealing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Changes of who can open the archive, for whoever holds the lock. The account in it stays what it is.
extension AccountArchive {
    /// The archive as it is stored, opened.
    struct Opened {
        let account: Account
        let envelope: Envelope
        let keys: ArchiveKeys
        let revision: ArchiveRevision
    }

    /// Openers of slots by the slots' key IDs.
    typealias Openers = [[UInt8]: KeySlot.Opener]

    /// Opens what is stored now.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/notSignedIn`` if there is none.
    func opened(in transaction: any ArchiveTransaction) async throws -> Opened {
        switch await load(in: transaction) {
        case .absent:
            throw AccountError(.notSignedIn, "there is no archive yet, so it has no keys: sign in first")
        case .unreadable(let error): throw error
        case .present(let account, let revision):
            guard let stored = try await transaction.read(.account), stored.revision == revision else {
                throw AccountError(.conflict, "the archive was changed meanwhile: try again")
            }
            let opened = try await open(stored.bytes)
            return Opened(account: account, envelope: opened.envelope, keys: opened.keys, revision: revision)
        }
    }

    /// What is stored now, without opening it; `nil` if there is none.
    func envelope() async throws -> Envelope? {
        guard let stored = try await storage.read(.account) else { return nil }
        return try ring.sealing { () throws(EnvelopeError) in
            try Envelope(parsing: try ArchivePropertyList.decode(stored.bytes))
        }
    }

    /// Whether what is stored is sealed for keys of kinds that are not set up here: a new archive in its place might open
    /// with something weaker.
    func hasOtherKindsOfKeys() async throws -> Bool {
        let envelope: Envelope?
        do {
            envelope = try await self.envelope()
        } catch let error as AccountError where error.isAboutContent {
            // What is no archive has no keys of any kind.
            return false
        }
        guard let envelope else { return false }
        let kinds = Set(ring.sources.compactMap(\.kind.slotKind))
        return kinds.isDisjoint(with: envelope.slots.map(\.kind))
    }

    /// What opens each slot, as far as that can be had.
    ///
    /// - Parameters:
    ///   - isNeeded: For which slots.
    ///   - asksPerson: Whether to ask for passphrases. Not under the lock, where others would wait.
    func openers(
        of envelope: Envelope, where isNeeded: (KeySlot) -> Bool = { _ in true }, asksPerson: Bool
    ) async throws(AccountError) -> Openers {
        var openers: Openers = [:]
        for slot in envelope.slots where isNeeded(slot) {
            do {
                openers[slot.keyID] =
                    try await ring.fitting(of: [slot], of: envelope, context: context, asksPerson: asksPerson).opener
            } catch  where error.code == .cancelled {
                throw error
            } catch {
                // Whoever needs this one says so.
            }
        }
        return openers
    }

    /// Seals the archive with other keys, and opens it again with each of `checked`.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/durabilityUnknown`` if what was written may not survive a power cut:
    ///   then no key that opened what was there before may go.
    func reseal(
        _ opened: Opened, with keys: ArchiveKeys, opening checked: [KeySlot.Opener],
        in transaction: any ArchiveTransaction
    ) async throws -> Opened {
        let (_, receipt) = try await write(
            opened.account, generation: opened.envelope.generation.next, keys: keys, ifRevision: opened.revision,
            in: transaction)
        guard let stored = try await transaction.read(.account), stored.revision == receipt.revision else {
            throw AccountError(.conflict, "the archive was changed meanwhile: try again")
        }
        do {
            let envelope = try Envelope(parsing: try ArchivePropertyList.decode(stored.bytes))
            for opener in checked {
                // A slot that it does not open is another key's; that it opens none is what is told.
                guard
                    envelope.slots.contains(where: { slot in
                        (try? envelope.unlock(slot, with: opener, context: context)) != nil
                    })
                else { throw EnvelopeError.wrongKeyOrDamaged }
            }
            _ = try envelope.open(with: keys, context: context)
            if case .unknown(let reason) = receipt.durability {
                throw AccountError(
                    .durabilityUnknown,
                    "the archive has its new keys, and the disk does not confirm that they survive a power cut (\(reason)): "
                        + "the keys from before were kept; repeat it when the disk is well")
            }
            return Opened(account: opened.account, envelope: envelope, keys: keys, revision: receipt.revision)
        } catch let error as EnvelopeError {
            throw AccountError(error)
        }
    }

    /// New keys for an archive that only some of its slots open from now on.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/noKey`` if one of those is not at hand, since the new data key must be
    ///   sealed for it.
    func renewedKeys(
        of opened: Opened, keeping isKept: (KeySlot) -> Bool, _ openers: Openers
    ) throws(AccountError) -> ArchiveKeys {
        let kept = try fittings(of: opened.keys.slots.filter(isKept), openers)
        guard !kept.isEmpty else {
            throw AccountError(
                .invalidArgument, "this is the only way into the archive: add another key first, or sign out")
        }
        return try ring.sealing { () throws(EnvelopeError) in try opened.keys.renewing(keeping: kept, context: context)
        }
    }

    /// Slots, each with what opens it.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/noKey`` if that of one is not at hand.
    func fittings(of slots: [KeySlot], _ openers: Openers) throws(AccountError) -> [KeyRing.Fitting] {
        var fittings: [KeyRing.Fitting] = []
        for slot in slots {
            guard let opener = openers[slot.keyID] else {
                let advice =
                    slot.kind == .passphrase
                    ? "the passphrase could not be asked for: do this on a terminal, or unlock the archive first"
                    : "its key is not at hand: do this where it is, or remove that slot first"
                throw AccountError(
                    .noKey,
                    "the slot \(slot.keyID.hexadecimal), which \(KeyKind(slot.kind).text) opens, has to be sealed anew, and "
                        + advice + ". Nothing was changed")
            }
            fittings.append((slot, opener))
        }
        return fittings
    }

    /// The slots that a key opens. Why it does not open another is nobody's concern.
    func slots(
        of envelope: Envelope, openedBy keys: [ArchiveKey], kind: KeyKind
    ) async throws(AccountError) -> Set<[UInt8]> {
        var opened: Set<[UInt8]> = []
        for slot in envelope.slots where slot.kind == kind.slotKind {
            for key in keys {
                let opener = try await ring.opener(of: key, for: slot)
                if (try? envelope.unlock(slot, with: opener, context: context)) != nil { opened.insert(slot.keyID) }
            }
        }
        return opened
    }
}
