public import AccountKit

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Account {
    /// An account for tests: user "alice", whose tokens were received at `date`.
    ///
    /// - Parameters:
    ///   - id: The user at the service.
    ///   - date: When the tokens were received.
    ///   - duration: For how long after `date` the access token is good; `nil` if that is not known.
    ///   - hasRefreshToken: Whether there is a refresh token.
    public static func testing(
        id: String = "248289761001", at date: Date, expiringIn duration: Duration? = .seconds(3600),
        hasRefreshToken: Bool = true
    ) -> Account {
        Account(
            id: id, issuer: "https://auth.example.com", username: "alice",
            credentials: Credentials(
                accessToken: Secret("access-1"), refreshToken: hasRefreshToken ? Secret("refresh-1") : nil,
                scopes: ["openid"], clientID: "test", issuedAt: date,
                expiresAt: duration.map { date.addingTimeInterval($0.seconds) }),
            profile: ["email": "alice@example.com", "name": "Alice Liddell"])
    }

    /// An account whose access token was received at `date`, and is good for an hour.
    public static func fresh(at date: Date) -> Account { testing(at: date) }

    /// An account whose access token expired an hour before `date`.
    public static func expired(at date: Date, hasRefreshToken: Bool = true) -> Account {
        testing(at: date.addingTimeInterval(-7200), expiringIn: .seconds(3600), hasRefreshToken: hasRefreshToken)
    }
}

extension AccountStore {
    /// A store in memory, in which `account` is signed in, or nobody.
    public static func testing(
        signedIn account: Account?, clock: ManualClock = ManualClock(),
        storage: any ArchiveStorage = InMemoryArchiveStorage()
    ) async throws -> AccountStore {
        let store = AccountStore(
            storage: storage, appIdentifier: "testing", keySources: [InMemoryKey()], clock: clock,
            // What tests wait for here is each other.
            lockTimeout: .seconds(300))
        if let account { try await store.signIn { account } }
        return store
    }

    /// Makes `store` the shared one for the time of `body`, and for its task and the task's children only: tests that run
    /// in parallel each have their own.
    ///
    /// ```swift
    /// try await AccountStore.withShared(.testing(signedIn: .fresh(at: clock.now))) {
    ///     #expect(greeting() == "Hello, alice")  // reads AccountStore.shared
    /// }
    /// ```
    ///
    /// What ``AccountStore/makeShared()`` does meanwhile counts there only. A detached task has the process's shared store.
    public static func withShared<Result>(
        _ store: AccountStore, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await $sharing.withValue(Sharing(store), operation: body)
    }
}

/// A key that is always there and always the same: for tests, as it protects nothing.
public struct InMemoryKey: KeySource {
    private let byte: UInt8

    /// A key of 32 equal bytes.
    public init(byte: UInt8 = 7) { self.byte = byte }

    /// As a key file.
    public var kind: KeyKind { .keyFile }

    /// The key.
    public func key() async throws -> ArchiveKey? { try await makeKey() }

    /// The same key.
    public func makeKey() async throws -> ArchiveKey { try ArchiveKey(bytes: [UInt8](repeating: byte, count: 32)) }
}
