import AccountCrypto
package import AccountSupport

/// A key slot of an archive, with which one key opens the archive.
package struct ArchiveKeySlot: Identifiable, Hashable, Sendable {
    /// The identifier: 32 hexadecimal digits. The identifier changes only when the key is replaced.
    package let id: String

    /// The kind of the key.
    package let kind: KeyKind

    /// The date when the slot was created.
    package let created: Date

    /// Whether the key is available without asking the user.
    package let isAvailable: Bool

    init(_ slot: KeySlot, isAvailable: Bool) {
        id = slot.keyID.hexadecimal
        kind = KeyKind(slot.kind)
        created = Date(timeIntervalSince1970: TimeInterval(slot.created))
        self.isAvailable = isAvailable
    }
}
