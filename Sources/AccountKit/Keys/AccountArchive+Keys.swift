import AccountCrypto
import AccountSupport

extension AccountArchive {
    typealias Openers = [[UInt8]: KeySlot.Opener]

    func opened(in transaction: any ArchiveTransaction) async throws -> OpenedArchive {
        switch await load(in: transaction) {
        case .absent: throw AccountError.noArchive
        case .unreadable(let error): throw error
        case .present(let account, let revision):
            var opened = try await opened(revision, in: transaction)
            opened.account = account
            return opened
        }
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
                if isInteractive, openers.isEmpty { use(match.keys) }
                openers[slot.keyID] = match.opener
            } catch  where error.code == .cancelled {
                throw error
            } catch {
                // If this key is needed, the caller reports the error.
            }
        }
        return openers
    }

    /// Encrypts the archive with other keys, and opens the archive with each opener in `checked` to verify the keys.
    /// After the error `durabilityUnknown`, the caller must keep all keys of the old archive.
    func reseal(
        _ opened: OpenedArchive, with keys: ArchiveKeys, opening checked: [KeySlot.Opener],
        in transaction: any ArchiveTransaction
    ) async throws -> OpenedArchive {
        let generation = opened.nextGeneration
        let (_, receipt) = try await write(
            opened.account, generation: generation, keys: keys, ifRevision: opened.revision, in: transaction)
        guard let stored = try await transaction.read(.account), stored.revision == receipt.revision else {
            throw AccountError(.conflict, "another process changed the archive", hint: "try again")
        }
        let envelope = try codec.envelope(in: stored.bytes)
        for opener in checked {
            let isOpened = envelope.slots.contains { keys.isOpened($0, by: opener, context: codec.context) }
            guard isOpened else { throw AccountError(EnvelopeError.authenticationFailed, isShared: isShared) }
        }
        let _: Account = try codec.open(envelope, with: keys)
        if case .unknown(let reason) = receipt.durability {
            throw AccountError(
                .durabilityUnknown,
                "the archive has its new keys, but the disk did not confirm that they survive a power cut (\(reason)): "
                    + "the previous keys were kept; try again once the disk is healthy")
        }
        return OpenedArchive(
            account: opened.account, generation: generation, keys: keys, revision: receipt.revision,
            byteCount: opened.byteCount)
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
            return try opened.keys.renewing(keeping: kept, context: codec.context)
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
            if archive.isOpened(slot, by: opener, context: codec.context) { opened.insert(slot.keyID) }
        }
        return opened
    }
}

extension AccountError {
    static let noArchive = AccountError(
        .notSignedIn, "there is no archive yet, so it has no keys", hint: "sign in first")
}
