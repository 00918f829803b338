import AccountCrypto

/// A kind of key that opens an archive. The raw value is the stable name in commands, settings and JSON.
package enum KeyKind: String, Sendable, CaseIterable, Codable {
    /// A file of 32 random bytes.
    case keyFile = "file"

    /// A passphrase that the user types.
    case passphrase

    /// A key that a program prints, or that the app itself keeps.
    case command

    /// A key in the environment or in a credentials directory.
    case environment

    init(_ slot: KeySlot.Kind) {
        switch slot {
        case .keyFile: self = .keyFile
        case .passphrase: self = .passphrase
        case .command: self = .command
        case .environment: self = .environment
        }
    }

    var slot: KeySlot.Kind {
        switch self {
        case .keyFile: .keyFile
        case .passphrase: .passphrase
        case .command: .command
        case .environment: .environment
        }
    }

    var text: String {
        switch self {
        case .keyFile: "a key file"
        case .passphrase: "a passphrase"
        case .command: "a key from a program"
        case .environment: "a key in the environment"
        }
    }
}
