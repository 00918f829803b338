import AccountCrypto
import AccountSupport

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A slot of an archive for one key that opens it.
package struct ArchiveKeySlot: Identifiable, Hashable, Sendable {
    /// The identifier: 32 hexadecimal digits. It changes only when the key is replaced.
    package let id: String

    /// The kind of the key.
    package let kind: KeyKind

    /// When the slot was created.
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
