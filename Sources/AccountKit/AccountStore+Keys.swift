import AccountCrypto
import AccountSupport

extension AccountStore {
    /// Returns the key slots of the archive; empty if no user is signed in. This function never prompts the user.
    package func keySlots() async throws(AccountError) -> [ArchiveKeySlot] {
        try await accountErrors {
            guard let envelope = try await vault.envelope() else { return [] }
            let openers = try await vault.openers(of: envelope, isInteractive: false)
            return envelope.slots.map { ArchiveKeySlot($0, isAvailable: openers[$0.keyID] != nil) }
        }
    }

    /// Adds a key to the vault. If the source has no key yet, the source creates one. If the key already opens the
    /// archive, nothing changes.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/notSignedIn`` if there is no vault.
    @discardableResult
    package func addKey(from source: any KeyProvider) async throws(AccountError) -> ArchiveKeySlot {
        try await accountErrors {
            try flows.refuseGivenToken()
            // Ask for a passphrase before acquiring the lock, so that other processes do not wait for the user.
            _ = try await flows.loadedAccount()
            let added = if let key = try await source.key() { key } else { try await source.makeKey() }
            try await vault.ring.settle(source)
            return try await withOpenedArchive { opened, draft in
                let present = try await vault.slots(of: opened.keys, openedBy: added, kind: source.kind)
                if let slot = opened.keys.slots.first(where: { present.contains($0.keyID) }) {
                    return ArchiveKeySlot(slot, isAvailable: true)
                }
                try requireFreeSlot(in: opened)
                let keys = try await vault.ring.adding(added, of: source, to: opened.keys, at: clock.now)
                let slot = keys.slots.last!
                let opener = try await vault.ring.opener(of: added, for: slot)
                _ = try await draft.reseal(opened, with: keys, opening: [opener])
                return ArchiveKeySlot(slot, isAvailable: source.kind != .passphrase)
            }
        }
    }

    /// Removes a key. The archive gets a new data key, so the removed key cannot open later versions.
    ///
    /// All other keys must be available, since AccountKit encrypts the new data key with each of them. AccountKit asks
    /// the user for passphrases. AccountKit removes a key file with its slot.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` if there is no such slot, or if it is the only one;
    ///   ``AccountError/Code-swift.struct/noKey`` if another key is not available. After these errors, nothing has
    ///   changed.
    package func removeKey(_ id: ArchiveKeySlot.ID) async throws(AccountError) {
        try await accountErrors {
            let openers = try await openersBeforeLock { $0.keyID.hexadecimal != id }
            try await withOpenedArchive { opened, draft in
                var opened = opened
                guard let slot = opened.keys.slots.first(where: { $0.keyID.hexadecimal == id }) else {
                    throw AccountError(.invalidArgument, "there is no key slot \(id)")
                }
                let keys = try vault.renewedKeys(of: opened, keeping: { $0 != slot }, openers)
                var unneeded: [KeyFile] = []
                for source in keyFiles {
                    if try await slots(of: opened, openedBy: source) == [slot.keyID] { unneeded.append(source) }
                }
                opened = try await draft.resealEverything(opened, with: keys, openers)
                // The cached key no longer opens anything, and expires even if it cannot be removed.
                if slot.kind == .passphrase { try? UnlockedKeys.forget(slot.keyID) }
                for source in unneeded { try await source.remove() }
                // The slot may have been that of an interrupted rotation.
                for source in keyFiles where try await slotsOfRotation(of: source, opened).isEmpty {
                    try await source.endRotation()
                }
            }
        }
    }

    /// Replaces a key of this store with a new key of the same kind, and also replaces the data key.
    ///
    /// The function adds the new key, opens the archive with it, stores it in place of the old one if it is a key file,
    /// and then removes the old one. After a crash between these steps, the archive still opens with
    /// the stored key, and the next rotation of the key file removes the slot of the other one.
    ///
    /// - Parameter kind: The kind of key: a passphrase or a key file. A key from a program or the environment cannot be
    ///   replaced here: add the new one, then remove the old one.
    /// - Throws: The errors of ``removeKey(_:)``.
    package func rotateKey(of kind: KeyKind) async throws(AccountError) {
        try await accountErrors {
            guard let source = vault.ring.sources.first(where: { $0.kind == kind }) else {
                throw AccountError(.invalidArgument, "this session has no key of that kind (\(kind.text))")
            }
            let stored = source as? KeyFile
            guard stored != nil || kind == .passphrase else {
                throw AccountError(
                    .invalidArgument,
                    "\(kind.text) cannot be replaced from here: store a new key beside the old one, under another name, "
                        + "add it, and remove the old one")
            }
            let openers = try await openersBeforeLock()
            let new = if stored == nil { try await source.makeKey() } else { ArchiveKey.random() }
            try await withOpenedArchive { opened, draft in
                var opened = opened
                for file in keyFiles { opened = try await completeRotation(of: file, opened, openers, draft) }
                let replaced =
                    if let stored { try await slots(of: opened, openedBy: stored) } else { Set(openers.keys) }
                let old = opened.keys.slots.filter { $0.kind == kind.slot && replaced.contains($0.keyID) }
                guard !old.isEmpty else {
                    throw AccountError(
                        .noKey, "\(kind.text) that opens this archive is not available here, so it cannot be replaced")
                }
                try requireFreeSlot(in: opened)
                // Detect a missing key before anything changes.
                _ = try vault.fittings(of: opened.keys.slots.filter { !old.contains($0) }, openers)
                let both = try await vault.ring.adding(new, of: source, to: opened.keys, at: clock.now)
                let added = both.slots.last!
                var openers = openers
                openers[added.keyID] = try await vault.ring.opener(of: new, for: added)
                if let stored, let previous = try await stored.key() {
                    try await stored.rotation.previous.replace(with: previous)
                    try await stored.rotation.next.replace(with: new)
                }
                opened = try await draft.resealEverything(opened, with: both, openers)
                try await stored?.replace(with: new)
                let only = try vault.renewedKeys(of: opened, keeping: { !old.contains($0) }, openers)
                _ = try await draft.resealEverything(opened, with: only, openers)
                try await stored?.endRotation()
                if kind == .passphrase { for slot in old { try? UnlockedKeys.forget(slot.keyID) } }
            }
        }
    }

    /// Removes the slots that only the other key of an interrupted rotation opens.
    private func completeRotation(
        of file: KeyFile, _ opened: OpenedArchive, _ openers: Vault.Openers, _ draft: VaultDraft
    ) async throws -> OpenedArchive {
        let unneeded = try await slotsOfRotation(of: file, opened)
        guard !unneeded.isEmpty else { return opened }
        let kept = try vault.renewedKeys(of: opened, keeping: { !unneeded.contains($0.keyID) }, openers)
        return try await draft.resealEverything(opened, with: kept, openers)
    }

    private func slotsOfRotation(of file: KeyFile, _ opened: OpenedArchive) async throws -> Set<[UInt8]> {
        try await slots(of: opened, openedBy: file.rotation.previous)
            .union(slots(of: opened, openedBy: file.rotation.next))
            .subtracting(slots(of: opened, openedBy: file))
    }

    private func requireFreeSlot(in opened: OpenedArchive) throws(AccountError) {
        guard ArchiveKeys.slotCounts.contains(opened.keys.slots.count + 1) else {
            throw AccountError(
                .invalidArgument,
                "an archive has at most \(ArchiveKeys.slotCounts.upperBound) keys", hint: "remove a key first")
        }
    }

    private var keyFiles: [KeyFile] { vault.ring.sources.compactMap { $0 as? KeyFile } }

    /// Returns the slots that the current key of a source opens.
    private func slots(
        of opened: OpenedArchive, openedBy source: any KeyProvider
    ) async throws -> Set<[UInt8]> {
        guard let key = try await source.key() else { return [] }
        return try await vault.slots(of: opened.keys, openedBy: key, kind: source.kind)
    }

    private func openersBeforeLock(
        where isNeeded: (KeySlot) -> Bool = { _ in true }
    ) async throws -> Vault.Openers {
        guard let envelope = try await vault.envelope() else { throw AccountError.noArchive }
        return try await vault.openers(of: envelope, where: isNeeded, isInteractive: true)
    }

    private func withOpenedArchive<Value>(
        _ body: (OpenedArchive, VaultDraft) async throws -> Value
    ) async throws -> Value {
        try await vault.change { draft in
            try await accountErrors { try await body(try await draft.openedArchive(), draft) }
        }
    }

    private func accountErrors<Value>(_ body: () async throws -> Value) async throws(AccountError) -> Value {
        do {
            return try await body()
        } catch {
            throw AccountError(
                wrapping: error, cancelled: "cancelled: the archive still opens with its keys",
                failure: "the keys could not be changed")
        }
    }

    // MARK: Unlocking

    /// Asks for the passphrase, and allows all programs of this login session to open the archive without it for
    /// `duration`.
    ///
    /// AccountKit stores the derived key in the Linux kernel's keyring (keyrings(7)).
    ///
    /// - Parameter duration: The time for which the archive stays unlocked; at least one second.
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` if the archive has no passphrase;
    ///   ``AccountError/Code-swift.struct/inaccessible`` if there is no such keyring.
    package func unlock(for duration: Duration) async throws(AccountError) {
        try await accountErrors {
            let envelope = try await passphraseArchive()
            let slots = envelope.slots.filter { $0.kind == .passphrase }
            let match = try await vault.ring.match(for: slots, of: envelope, isInteractive: true)
            guard case .derived(let key, let keyID) = match.opener else {
                preconditionFailure("a passphrase slot is opened with a derived key")
            }
            try UnlockedKeys.keep(key, of: keyID, for: UInt32(clamping: max(1, duration.components.seconds)))
        }
    }

    /// Removes the key that ``unlock(for:)`` stored.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` if the archive has no passphrase.
    package func lock() async throws(AccountError) {
        try await accountErrors {
            for slot in try await passphraseArchive().slots where slot.kind == .passphrase {
                try UnlockedKeys.forget(slot.keyID)
            }
        }
    }

    private func passphraseArchive() async throws -> Envelope {
        guard let envelope = try await vault.envelope() else {
            throw AccountError(.notSignedIn, "there is no archive yet, so nothing is locked", hint: "sign in first")
        }
        guard envelope.slots.contains(where: { $0.kind == .passphrase }) else {
            throw AccountError(
                .invalidArgument, "this archive has no passphrase, so it cannot be locked or unlocked")
        }
        return envelope
    }
}
