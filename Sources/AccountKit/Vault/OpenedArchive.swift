import AccountCrypto

struct OpenedArchive: Sendable {
    var account: Account
    var generation: UInt64
    var keys: ArchiveKeys
    var revision: ArchiveRevision

    /// The size of the encrypted archive, in bytes.
    var byteCount: Int

    /// The generation of the next write. The largest possible generation is repeated, since the revision still
    /// distinguishes the writes.
    var nextGeneration: UInt64 { generation == .max ? .max : generation + 1 }
}
