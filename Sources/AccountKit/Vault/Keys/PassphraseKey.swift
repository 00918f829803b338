package import AccountCrypto
import AccountSupport
import CAccountKitShims

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A passphrase that the user types. Argon2id derives the key from it (RFC 9106; 3 passes over 256 MiB).
///
/// The passphrase protects the archive even from a program that can read all files of the user, unless the passphrase
/// can be guessed. The passphrase does not protect an unlocked session against programs of the same user.
public struct PassphraseKey: KeySource {
    /// The passphrase to ask the user for.
    public enum Question: Sendable, Hashable {
        /// The passphrase of the archive; `attempt` is 1 to 3.
        case existing(attempt: Int)

        /// A passphrase for a new archive. The app asks for the passphrase twice.
        case new
    }

    private let cost: PassphraseCost
    private let ask: @Sendable (Question) async throws -> Secret

    /// Creates a source for a passphrase.
    ///
    /// - Parameter ask: A function that asks the user. The function throws an error if it cannot ask the user, or if
    ///   the user cancels.
    public init(ask: @escaping @Sendable (Question) async throws -> Secret) {
        self.init(cost: .moderate, ask: ask)
    }

    package init(cost: PassphraseCost, ask: @escaping @Sendable (Question) async throws -> Secret) {
        self.cost = cost
        self.ask = ask
    }

    /// The kind `passphrase`.
    public var kind: KeyKind { .passphrase }

    /// Returns `nil`: only the user has the key.
    public func key() async throws -> ArchiveKey? { nil }

    /// Asks for the passphrase of the archive.
    public func keyFromUser(attempt: Int) async throws -> ArchiveKey? {
        try ArchiveKey(passphrase: try await ask(.existing(attempt: attempt)))
    }

    /// Asks for a new passphrase.
    public func makeKey() async throws -> ArchiveKey {
        try ArchiveKey(passphrase: try await ask(.new), cost: cost)
    }
}

/// Keys derived from passphrases, in the Linux kernel's keyring of the login session (keyrings(7)). The kernel does not
/// write these keys to disk or swap, and removes them at the end of the login session.
enum UnlockedKeys {
    static func key(of keyID: [UInt8]) -> GuardedBytes? {
        struct Locked: Error {}
        return try? GuardedBytes(count: 32) { key throws(Locked) in
            guard accountkit_keyring_get(name(keyID), key.baseAddress!, key.count) == key.count else { throw Locked() }
        }
    }

    static func keep(_ key: GuardedBytes, of keyID: [UInt8], for seconds: UInt32) throws(AccountError) {
        let status = key.withUnsafeBytes { accountkit_keyring_put(name(keyID), $0.baseAddress!, $0.count, seconds) }
        guard status == 0 else {
            throw AccountError(
                .inaccessible,
                "the kernel's keyring cannot be used here, so each command must ask for the passphrase",
                cause: SystemCallError("add_key", name(keyID), errno: errno))
        }
    }

    static func forget(_ keyID: [UInt8]) throws(AccountError) {
        guard accountkit_keyring_remove(name(keyID)) != 0, accountkit_keyring_is_absent(errno) == 0 else { return }
        throw AccountError(
            .inaccessible, "the kernel's keyring did not remove the key: end this login session to remove it",
            cause: SystemCallError("keyctl", name(keyID), errno: errno))
    }

    private static func name(_ keyID: [UInt8]) -> String { "AccountKit:" + keyID.hexadecimal }
}
