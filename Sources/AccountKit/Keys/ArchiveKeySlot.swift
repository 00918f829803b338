import AccountCrypto

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A way into an archive: a key of one kind opens it.
public struct ArchiveKeySlot: Identifiable, Hashable, Sendable {
    /// 32 hexadecimal digits, which stay the same until the key is replaced.
    public let id: String

    /// Where the key comes from.
    public let kind: KeyKind

    /// When the slot was made.
    public let created: Date

    /// Whether its key is at hand, without asking a person.
    public let isAvailable: Bool

    init(_ slot: KeySlot, isAvailable: Bool) {
        id = slot.keyID.hexadecimal
        kind = KeyKind(slot.kind)
        created = Date(timeIntervalSince1970: TimeInterval(slot.created))
        self.isAvailable = isAvailable
    }
}
