public import AccountKit
import AccountSupport

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Account {
    /// Returns an account for tests, with the user "alice" and with tokens that were received at `date`.
    ///
    /// - Parameters:
    ///   - id: The ID of the user.
    ///   - date: The time at which the tokens were received.
    ///   - duration: The lifetime of the access token after `date`, or `nil` if the lifetime is unknown.
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

    /// Returns the account of a client without a user, with a token that was received at `date`. The session has no
    /// refresh token: AccountKit requests another access token when this one expires.
    ///
    /// - Parameters:
    ///   - id: The client ID.
    ///   - date: The time at which the token was received.
    ///   - duration: The lifetime of the access token after `date`, or `nil` if the lifetime is unknown.
    package static func machine(
        id: String = "nightly", at date: Date, expiringIn duration: Duration? = .seconds(3600)
    ) -> Account {
        var credentials = Credentials(
            accessToken: Secret("access-1"), clientID: id, issuedAt: date,
            expiresAt: duration.map { date.addingTimeInterval($0.seconds) })
        credentials.machine = MachineGrant()
        return Account(id: id, issuer: "https://auth.example.com", credentials: credentials, verifiedAt: date)
    }

    /// Returns an account whose access token was received at `date` and is valid for an hour.
    public static func fresh(at date: Date) -> Account { testing(at: date) }

    /// Returns an account whose access token expired an hour before `date`.
    public static func expired(at date: Date, hasRefreshToken: Bool = true) -> Account {
        testing(at: date.addingTimeInterval(-7200), expiringIn: .seconds(3600), hasRefreshToken: hasRefreshToken)
    }
}

extension AccountStore {
    /// Returns a store in memory with `account`, or without an account. No other store has its archive.
    public static func inMemory(
        signedIn account: Account?, clock: ManualClock = ManualClock()
    ) async throws -> AccountStore {
        try await inMemory(signedIn: account, clock: clock, storage: InMemoryArchiveStorage())
    }

    /// Returns a store with `account`, or without an account, in a storage that other stores can use too.
    package static func inMemory(
        signedIn account: Account?, clock: ManualClock = ManualClock(), storage: any ArchiveStorage
    ) async throws -> AccountStore {
        let store = AccountStore(
            storage: storage, appIdentifier: "testing", keys: [InMemoryKey()], clock: clock,
            // Use a long timeout, because tests wait only for each other.
            lockTimeout: .seconds(300)
        )
        // A test sees only the requests that it causes.
        .leavingRevocations()
        if let account { try await store.signIn { account } }
        return store
    }

    /// Makes `store` the shared store in `body`, only for its task and child tasks. Parallel tests do not share the
    /// store.
    ///
    /// ```swift
    /// try await AccountStore.withShared(.inMemory(signedIn: .fresh(at: clock.now))) {
    ///     #expect(greeting() == "Hello, alice")  // reads AccountStore.shared
    /// }
    /// ```
    ///
    /// Setting ``AccountStore/shared`` in `body` has no effect outside `body`. A detached task uses the shared
    /// store of the process.
    public static func withShared<Result>(
        _ store: AccountStore, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await $sharing.withValue(Sharing(store), operation: body)
    }
}

/// A constant key for tests, which provides no protection.
package struct InMemoryKey: KeyProvider {
    package init() {}

    package var kind: KeyKind { .keyFile }

    package func key() async throws -> ArchiveKey? { try await makeKey() }

    package func makeKey() async throws -> ArchiveKey { try ArchiveKey(bytes: [UInt8](repeating: 7, count: 32)) }
}
