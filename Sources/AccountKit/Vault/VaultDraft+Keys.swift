import AccountCrypto

/// A change of the archive's keys under the lock.
extension VaultDraft {
    func openedArchive() async throws -> OpenedArchive {
        switch await stored() {
        case .absent: throw AccountError.noArchive
        case .unreadable(let error): throw error
        case .present(let account, let revision):
            var opened = try await opened(revision)
            opened.account = account
            return opened
        }
    }

    /// Encrypts the archive and the records beside it with other keys.
    func resealEverything(
        _ opened: OpenedArchive, with keys: ArchiveKeys, _ openers: Vault.Openers
    ) async throws -> OpenedArchive {
        let resealed = try await reseal(opened, with: keys, opening: keys.slots.compactMap { openers[$0.keyID] })
        try await revocations.reseal(with: keys, before: opened.keys)
        try await offlineKeys.reseal(with: keys, before: opened.keys)
        try await keptProfiles.reseal(with: keys, before: opened.keys)
        return resealed
    }

    /// Encrypts the archive with other keys, and opens the archive with each opener in `checked` to verify the keys.
    /// After the error `durabilityUnknown`, the caller must keep all keys of the old archive.
    func reseal(
        _ opened: OpenedArchive, with keys: ArchiveKeys, opening checked: [KeySlot.Opener]
    ) async throws -> OpenedArchive {
        let generation = opened.nextGeneration
        let (_, receipt) = try await write(
            opened.account, generation: generation, keys: keys, ifRevision: opened.revision)
        guard let stored = try await transaction.read(.account), stored.revision == receipt.revision else {
            throw AccountError(.conflict, "another process changed the archive", hint: "try again")
        }
        let envelope = try vault.context.envelope(in: stored.bytes)
        for opener in checked {
            let isOpened = envelope.slots.contains { keys.isOpened($0, by: opener, context: vault.context) }
            guard isOpened else { throw AccountError(EnvelopeError.authenticationFailed, isShared: vault.isShared) }
        }
        let _: Account = try vault.context.open(envelope, with: keys)
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
}
