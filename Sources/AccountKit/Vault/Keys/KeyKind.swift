package import AccountCrypto
import AccountSupport

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A kind of key that opens an archive. Later versions may add kinds.
public struct KeyKind: Hashable, Sendable {
    package let slot: KeySlot.Kind
    package init(_ slot: KeySlot.Kind) { self.slot = slot }

    /// A file of 32 random bytes.
    public static let keyFile = KeyKind(.keyFile)

    /// A passphrase that the user types.
    public static let passphrase = KeyKind(.passphrase)

    /// A key that a command prints.
    public static let command = KeyKind(.command)

    /// A key in the environment or in a credentials directory.
    public static let environment = KeyKind(.environment)

    package var text: String {
        switch slot {
        case .keyFile: "a key file"
        case .passphrase: "a passphrase"
        case .command: "a key from a program"
        case .environment: "a key in the environment"
        }
    }
}

extension KeyKind: CaseIterable, CustomStringConvertible, LosslessStringConvertible, Codable {
    /// All kinds.
    public static var allCases: [KeyKind] { KeySlot.Kind.allCases.map(KeyKind.init) }

    /// The stable name: `file`, `passphrase`, `command` or `environment`.
    public var description: String {
        switch slot {
        case .keyFile: "file"
        case .passphrase: "passphrase"
        case .command: "command"
        case .environment: "environment"
        }
    }

    /// Creates a kind from its name; `nil` for an unknown name.
    public init?(_ description: String) {
        guard let kind = Self.allCases.first(where: { $0.description == description }) else { return nil }
        self = kind
    }

    /// Decodes the name.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let kind = KeyKind(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no kind of key has this name")
        }
        self = kind
    }

    /// Encodes the name.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

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
