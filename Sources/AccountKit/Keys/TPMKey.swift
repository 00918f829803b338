import AccountSupport

/// A key that the TPM 2.0 of this machine seals. Only the same TPM can unseal the key.
///
/// The key protects copies of the archive and of the sealed key, because they do not open on another machine. The key
/// does not protect against a program that runs as the user on this machine, because it can also use the TPM. If the TPM
/// is cleared or replaced, the key is lost, so an archive needs another key for recovery.
///
/// The source requires the package trait `TPM`, and tpm2-tss on a Linux machine. The variable `TPM2TOOLS_TCTI` selects
/// a TPM other than `/dev/tpmrm0`.
public struct TPMKey: KeySource {
    /// The file with the sealed key.
    package let file: KeyFile

    /// Creates a source for the key of a session. The sealed key is in the file `Account.tpm` in the container's `keys`
    /// folder, or for a named session in the subfolder `Sessions/<name>`.
    public init(container: AppContainer, session: SessionName = .default) {
        self.init(container: container, session: session, chip: .tpm)
    }

    init(container: AppContainer, session: SessionName = .default, chip: SecurityChip) {
        file = KeyFile(named: "Account.tpm", of: session, in: container, chip: chip)
    }

    /// The kind `tpm`.
    public var kind: KeyKind { .tpm }

    /// Unseals the key; returns `nil` if there is no sealed key.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/noKey`` if the TPM is unreachable, if it is not the TPM that sealed the
    ///   key, if it was cleared since, or if the program was built without the trait `TPM`;
    ///   ``AccountError/Code-swift.struct/damaged`` if the file was changed.
    public func key() async throws -> ArchiveKey? { try await BlockingWork.run { try file.storedKey() } }

    /// Creates a random key and seals it, or returns the key that another process has just sealed.
    public func makeKey() async throws -> ArchiveKey { try await file.makeKey() }
}

extension TPMKey: StoredKeySource {
    package func settle() async throws { try await file.settle() }
    package func replace(with key: ArchiveKey) async throws { try await file.replace(with: key) }
    package func remove() async throws { try await file.remove() }
}
