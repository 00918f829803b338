import AccountCrypto
import AccountSupport

/// The keys of the archive and of the records beside it.
extension Vault {
    typealias Openers = [[UInt8]: KeySlot.Opener]

    func envelope() async throws -> Envelope? {
        guard let stored = try await storage.read(.account) else { return nil }
        return try context.envelope(in: stored.bytes)
    }

    func knownKeys(for envelope: Envelope) -> ArchiveKeys? {
        memory.keys.flatMap { $0.isOfSameData(as: envelope) && $0.slots == envelope.slots ? $0 : nil }
    }

    /// Returns the keys of the account for an entry beside it. The caller has read the account under the lock, so this
    /// function does not ask the user. If there is no account, it returns new keys of the same sources.
    func keysBeside() async throws(AccountError) -> ArchiveKeys {
        if let keys = memory.keys { return keys }
        guard !ring.sources.contains(where: { $0.kind == .passphrase }) else {
            throw AccountError(
                .noKey,
                "cannot store the tokens to revoke: there is no account archive whose keys could encrypt them, and the user "
                    + "cannot be prompted for the passphrase")
        }
        return try await ring.makeKeys(at: clock.now)
    }

    /// Returns the keys that open an entry beside the account. `before` contains the keys of the account before a
    /// change of keys.
    func keysBeside(
        of envelope: Envelope, before: ArchiveKeys?, isInteractive: Bool
    ) async throws(AccountError) -> ArchiveKeys {
        // Archives with different slots, for example from before a key was added, may have the same data key.
        for known in [memory.keys, before] {
            if let known, known.isOfSameData(as: envelope) { return known }
        }
        return try await ring.unlock(envelope, isInteractive: isInteractive)
    }

    /// Returns whether none of the configured key sources has a kind that opens the stored archive. A new archive could
    /// then have a weaker key.
    func hasOtherKindsOfKeys() async throws -> Bool {
        let envelope: Envelope?
        do {
            envelope = try await self.envelope()
        } catch let error as AccountError where error.isAboutContent {
            return false
        }
        guard let envelope else { return false }
        return Set(ring.sources.map(\.kind.slot)).isDisjoint(with: envelope.slots.map(\.kind))
    }

    /// Returns the available openers of the slots. If `isInteractive` is `true`, asks the user for passphrases, and
    /// uses their keys for the archive from now on. Set it to `false` under the lock, where other processes would wait
    /// for the user.
    func openers(
        of envelope: Envelope, where isNeeded: (KeySlot) -> Bool = { _ in true }, isInteractive: Bool
    ) async throws(AccountError) -> Openers {
        var openers: Openers = [:]
        for slot in envelope.slots where isNeeded(slot) {
            do {
                let match = try await ring.match(for: [slot], of: envelope, isInteractive: isInteractive)
                if isInteractive, openers.isEmpty { memory.replaceKeys(with: match.keys) }
                openers[slot.keyID] = match.opener
            } catch  where error.code == .cancelled {
                throw error
            } catch {
                // If this key is needed, the caller reports the error.
            }
        }
        return openers
    }

    func renewedKeys(
        of opened: OpenedArchive, keeping isKept: (KeySlot) -> Bool, _ openers: Openers
    ) throws -> ArchiveKeys {
        let kept = try fittings(of: opened.keys.slots.filter(isKept), openers)
        guard !kept.isEmpty else {
            throw AccountError(
                .invalidArgument, "this is the only key of the archive", hint: "add another key first, or sign out")
        }
        do {
            return try opened.keys.renewing(keeping: kept, context: context)
        } catch {
            throw AccountError(error, isShared: isShared)
        }
    }

    func fittings(
        of slots: [KeySlot], _ openers: Openers
    ) throws(AccountError) -> [(slot: KeySlot, opener: KeySlot.Opener)] {
        try slots.map { slot throws(AccountError) in
            if let opener = openers[slot.keyID] { return (slot, opener) }
            let advice =
                slot.kind == .passphrase
                ? "this needs the passphrase: run the command on a terminal, or unlock the archive first"
                : "its key is not available here: run the command where the key is, or remove that slot first"
            throw AccountError(
                .noKey,
                "the slot \(slot.keyID.hexadecimal), which \(KeyKind(slot.kind).text) opens, must be encrypted again, and "
                    + advice + ". Nothing was changed")
        }
    }

    func slots(
        of archive: ArchiveKeys, openedBy key: ArchiveKey, kind: KeyKind
    ) async throws(AccountError) -> Set<[UInt8]> {
        var opened: Set<[UInt8]> = []
        for slot in archive.slots where slot.kind == kind.slot {
            let opener = try await ring.opener(of: key, for: slot)
            if archive.isOpened(slot, by: opener, context: context) { opened.insert(slot.keyID) }
        }
        return opened
    }
}

extension AccountError {
    static let noArchive = AccountError(
        .notSignedIn, "there is no archive yet, so it has no keys", hint: "sign in first")
}
