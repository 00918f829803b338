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

/// A passphrase that the user types.
package struct PassphraseKey: KeyProvider {
    private let cost: PassphraseCost
    private let ask: @Sendable (PassphraseQuestion) async throws -> Secret

    package init(
        cost: PassphraseCost = .moderate, ask: @escaping @Sendable (PassphraseQuestion) async throws -> Secret
    ) {
        self.cost = cost
        self.ask = ask
    }

    package var kind: KeyKind { .passphrase }

    package func key() async throws -> ArchiveKey? { nil }

    package func keyFromUser(attempt: Int) async throws -> ArchiveKey? {
        try ArchiveKey(passphrase: try await ask(.existing(attempt: attempt)))
    }

    package func makeKey() async throws -> ArchiveKey {
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
