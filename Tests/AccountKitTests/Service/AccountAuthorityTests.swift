import AccountTesting
import Synchronization
import Testing

@testable import AccountKit

/// AccountKit sends a token only to the service of its account.
struct AccountAuthorityTests {
    /// An app's own login, which leaves the issuer of its accounts to AccountKit. Records the accounts it receives.
    private final class Login: PasswordAuthority, TokenAuthority {
        let issuer: String?
        let named: String?
        let seen = Mutex<[Account]>([])
        let revoked = Mutex<[Account]>([])

        init(issuer: String?, naming named: String? = nil) { (self.issuer, self.named) = (issuer, named) }

        func signIn(username: String, password: Secret) async throws -> Account {
            Account(id: "1", issuer: named, credentials: Credentials(accessToken: password, issuedAt: Fixture.now))
        }

        func revoke(_ account: Account) async throws -> RevocationOutcome {
            revoked.withLock { $0.append(account) }
            return .done
        }

        func signIn(token: Secret) async throws -> Account { try await signIn(username: "", password: token) }

        func verify(_ account: Account) async throws -> Identity {
            seen.withLock { $0.append(account) }
            return Identity(id: account.id)
        }
    }

    private static let issuers = ["https://notes.example.com", "https://other.example.com", nil]

    @Test(arguments: issuers, issuers) func `Sends a token only to a service with the account's issuer`(
        of account: String?, service: String?
    ) async throws {
        let store = try await AccountStore.inMemory(
            signedIn: Account(
                id: "1", issuer: account, credentials: Credentials(accessToken: Secret("a"), issuedAt: Fixture.now)))
        let login = Login(issuer: service)
        let state = await store.checkSession(with: login)
        if account == service {
            guard case .verified = state else {
                Issue.record("\(state)")
                return
            }
        } else {
            guard case .unverified(_, let reason) = state else {
                Issue.record("\(state)")
                return
            }
            #expect(reason.code == .misconfigured)
        }
        #expect(login.seen.withLock { $0.count } == (account == service ? 1 : 0))
    }

    @Test(arguments: [nil, "https://notes.example.com"])
    func `Stores no account that the service would not accept later`(issuer: String?) async throws {
        let store = try await AccountStore.inMemory(signedIn: Fixture.alice)
        let login = Login(issuer: issuer, naming: "https://other.example.com")
        await expectAccountError(.misconfigured) {
            try await store.signIn(username: "bob", password: Secret("b"), with: login)
        }
        await expectAccountError(.misconfigured) { try await store.signIn(token: Secret("b"), with: login) }
        #expect(store.account == Fixture.alice)
    }

    @Test(arguments: [true, false]) func `Stores the issuer of the service with an account that names none`(
        byPassword: Bool
    ) async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        let login = Login(issuer: "https://notes.example.com")
        if byPassword {
            try await store.signIn(username: "alice", password: Secret("a"), with: login)
        } else {
            try await store.signIn(token: Secret("a"), with: login)
        }
        #expect(store.account?.issuer == "https://notes.example.com")
        guard case .verified = await store.checkSession(with: login) else {
            Issue.record("the service does not recognize its own account")
            return
        }
    }
}
