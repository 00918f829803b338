import AccountKit
import AccountTesting
import TestScene
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct SecretTests {
    private static let canary = "canary-5d0c1f0e9b7a4e6d"
    private static let secret = Secret(canary)

    private static let account: Account = {
        var account = Account.fresh(at: ManualClock().now)
        account.credentials.accessToken = Secret(canary)
        account.credentials.refreshToken = Secret(canary + "-refresh")
        account.credentials.idToken = Secret(canary + "-id")
        return account
    }()

    /// A value that contains the canary.
    struct Holder: CustomTestStringConvertible {
        let name: String
        let value: any Sendable
        var testDescription: String { name }
    }

    static func holders() throws -> [Holder] {
        [
            Holder(name: "secret", value: secret),
            Holder(name: "optional", value: Optional(secret) as any Sendable),
            Holder(name: "array", value: [secret, secret]),
            Holder(name: "dictionary", value: ["token": secret]),
            Holder(name: "tuple", value: (secret, 1)),
            Holder(name: "credentials", value: account.credentials),
            Holder(name: "account", value: account),
            Holder(name: "verified", value: SessionState.verified(account)),
            Holder(name: "unverified", value: SessionState.unverified(account, .init(.offline))),
            Holder(name: "loaded", value: AccountEvent.loaded(Identity(account))),
            Holder(name: "signed in", value: AccountEvent.signedIn(Identity(account))),
            Holder(name: "refreshed", value: AccountEvent.refreshed(Identity(account))),
            Holder(name: "updated", value: AccountEvent.updated(Identity(account))),
            Holder(name: "result", value: Result<Account, AccountError>.success(account)),
            Holder(name: "passphrase key", value: try ArchiveKey(passphrase: secret)),
            Holder(name: "raw key", value: try ArchiveKey(bytes: Array(canary.utf8) + [UInt8](repeating: 0, count: 9))),
        ]
    }

    @Test(arguments: try holders()) func `Never shows a secret, a part of a secret or its length when printed`(
        holder: Holder
    ) {
        var dumped = ""
        dump(holder.value, to: &dumped)
        let texts = [
            "\(holder.value)", String(describing: holder.value), String(reflecting: holder.value), dumped,
            "\(Mirror(reflecting: holder.value).children.map { "\($0)" })",
        ]
        for text in texts {
            // Partial leaks: the beginning or the end of the secret.
            #expect(!text.contains("canary"))
            #expect(!text.contains(Self.canary.suffix(6)))
            #expect(!text.contains("\(Self.canary.utf8.count)"))
            // The bytes of "can".
            #expect(!text.contains("99, 97, 110"))
        }
    }

    @Test func `Prints secrets of all lengths the same`() {
        for secret in [Secret(""), Secret("x"), Secret(bytes: [UInt8](repeating: 65, count: 5000))] {
            #expect(String(describing: secret) == "(secret)")
            #expect((DeprecatedInterpolation() as any Interpolation).text(secret) == "Bearer (secret)")
            #expect(secret.debugDescription == "(secret)")
            #expect(Mirror(reflecting: secret).children.isEmpty)
        }
    }

    @Test func `Never shows a secret in a log line, state, event or error`() async throws {
        let secrets = [Self.secret, Self.account.credentials.refreshToken!, Secret("8c1e4f77-b0b0")]
        try await expectNoLeak(of: secrets) { logger in
            let clock = ManualClock()
            let storage = FaultyArchiveStorage()
            let store = AccountStore(
                storage: storage, appIdentifier: "testing", keys: [InMemoryKey()], clock: clock,
                lockTimeout: .zero, logger: logger)
            var shown: [Any] = []
            let authority = ScriptedAuthority(
                verify: [.refuse(.unauthorized(error: "invalid_token")), .accept],
                refresh: [.tokens(Self.account.credentials)], signIn: [.refuse(.signInRefused("wrong password"))],
                clock: clock)
            try await store.signIn { Self.account }
            for call in FaultyArchiveStorage.Call.allCases {
                for number in 1...3 { storage.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: call) }
                shown.append(await store.checkSession(with: authority, timeout: nil))
                shown.append(await error { try await store.refresh(with: authority) } as Any)
                shown.append(await error { try await store.update { $0.profile.points = 1 } } as Any)
            }
            shown.append(
                await error {
                    try await store.signIn(username: "bob", password: Secret("8c1e4f77-b0b0"), with: authority)
                } as Any)
            shown.append(await error { try await store.signOut(with: authority) } as Any)
            for value in shown {
                expectNoLeak(of: secrets, in: "\(value)")
                expectNoLeak(of: secrets, in: String(reflecting: value))
            }
        }
    }

    private func error(_ body: () async throws -> some Any) async -> (any Error)? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test func `Treats secrets as equal only if their bytes are equal`() {
        #expect(Secret("token") == Secret(bytes: Array("token".utf8)))
        for other in ["tokem", "token ", "toke", "", "Token"] { #expect(Secret("token") != Secret(other)) }
        #expect(Secret("") == Secret(bytes: []))
    }

    @Test(arguments: ["token", " token\r\n", "\u{FEFF}token", "\n\ttoken\u{A0}"])
    func `Trims a secret, and only if asked`(text: String) {
        #expect(Secret(text).trimmed == Secret("token"))
        #expect(Secret("x" + text + "x").trimmed == Secret("x" + text + "x"))
        #expect(Secret(text + "\nrest").firstLine == Secret("token"))
        #expect(Secret(" \n").trimmed == Secret("") && Secret("").trimmed == Secret(""))
    }

    @Test func `Returns the bytes and the text of a secret unchanged`() {
        let bytes: [UInt8] = [0, 255, 128, 65, 0]
        #expect(
            Secret(bytes: bytes).withBytes { span in (0..<span.byteCount).map { span.unsafeLoad(at: $0) } } == bytes)
        #expect(Secret("päss 🔑").reveal() == "päss 🔑")
        #expect(Secret(bytes: [65, 255, 66]).reveal() == "A\u{FFFD}B")
        #expect(Secret("").reveal().isEmpty)
    }
}

extension RawSpan {
    fileprivate func unsafeLoad(at offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }
}

private protocol Interpolation {
    func text(_ secret: Secret) -> String
}

/// Deprecated, so that the interpolation compiles without a warning here.
private struct DeprecatedInterpolation: Interpolation {
    @available(*, deprecated) func text(_ secret: Secret) -> String { "Bearer \(secret)" }
}
