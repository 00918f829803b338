import AccountCrypto
import AccountSupport

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A slot of an archive for one key that opens it.
public struct ArchiveKeySlot: Identifiable, Hashable, Sendable {
    /// The identifier: 32 hexadecimal digits. It changes only when the key is replaced.
    public let id: String

    /// The kind of the key.
    public let kind: KeyKind

    /// When the slot was created.
    public let created: Date

    /// Whether the key is available without asking the user.
    public let isAvailable: Bool

    init(_ slot: KeySlot, isAvailable: Bool) {
        id = slot.keyID.hexadecimal
        kind = KeyKind(slot.kind)
        created = Date(timeIntervalSince1970: TimeInterval(slot.created))
        self.isAvailable = isAvailable
    }
}
