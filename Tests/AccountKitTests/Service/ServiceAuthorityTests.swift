import AccountTesting
import Testing

@testable import AccountKit

/// The view that the commands and the store have of an authority.
struct ServiceAuthorityTests {
    private struct Login: PasswordAuthority, DeviceAuthority {
        var supportsPerGrantRevocation: Bool { true }
        var tokenRequestTimeout: Duration { .seconds(7) }
        var issuer: String? { "https://login.example.com" }

        func isAuthority(of account: Account) -> Bool { account.id == "1" }
        func verify(_ account: Account) async throws -> Identity { Identity(id: "verified") }
        func refresh(_ account: Account) async throws -> Credentials { Fixture.newTokens }
        func revoke(_ account: Account) async throws -> RevocationOutcome { .done }
        func updateProfile(of account: Account) async throws -> Identity { Identity(id: "updated") }
        func signIn(username: String, password: Secret) async throws -> Account { Fixture.bob }
        func account(with credentials: Credentials) async throws -> Account { Fixture.bob }

        func beginDeviceSignIn() async throws -> DeviceAuthorization {
            throw AuthorityError.signInRefused("not in this test")
        }

        func pollDeviceSignIn(_ authorization: DeviceAuthorization) async throws -> Credentials { Fixture.newTokens }
    }

    @Test func `Finds the ways to sign in that an app's own login adopts`() {
        let service = Login().serviceAuthority
        #expect(service.passwordWay is Login)
        #expect(service.deviceWay is Login)
        #expect(service.tokenWay == nil)
        #expect(service.browserWay == nil)
        #expect(service.clientWay == nil)
    }

    @Test func `Passes each call to an app's own login`() async throws {
        let service = Login().serviceAuthority
        #expect(service.supportsPerGrantRevocation)
        #expect(service.tokenRequestTimeout == .seconds(7))
        #expect(service.issuer == "https://login.example.com")
        #expect(service.isAuthority(of: Account(id: "1", credentials: Fixture.newTokens)))
        #expect(!service.isAuthority(of: Account(id: "2", credentials: Fixture.newTokens)))
        #expect(try await service.verify(Fixture.bob).id == "verified")
        #expect(try await service.refresh(Fixture.bob) == Fixture.newTokens)
        #expect(try await service.revoke(Fixture.bob) == .done)
        #expect(try await service.updateProfile(of: Fixture.bob).id == "updated")
        let exchange = try await service.prepare(.refresh, of: Fixture.bob)
        #expect(try await exchange.send { true } == Fixture.newTokens)
    }

    @Test func `Sends nothing without the lease, also for an app's own login`() async throws {
        let exchange = try await Login().serviceAuthority.prepare(.refresh, of: Fixture.bob)
        await #expect(throws: AuthorityError.leaseLost) { try await exchange.send { false } }
    }

    @Test func `Derives no tokens with an app's own login`() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        let target = try TokenTarget(resources: ["https://billing.example.com/"])
        await expectAccountError(.misconfigured) {
            try await store.accessToken(for: target, timeout: nil, with: OtherLogin())
        }
        #expect(store.account != nil)
    }

    @Test func `Changes no profile with a login that does not offer it`() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        let before = store.account
        await expectAccountError(.misconfigured) {
            try await store.sendProfile(to: OtherLogin()) { $0.nickname = "Ally" }
        }
        #expect(store.account == before)
    }

    private struct OtherLogin: AccountAuthority {
        var issuer: String? { nil }

        func isAuthority(of account: Account) -> Bool { true }
        func verify(_ account: Account) async throws -> Identity { Identity(id: account.id) }
    }

    @Test func `Uses an authority of AccountKit itself`() {
        let authority = ScriptedAuthority()
        #expect(authority.serviceAuthority as AnyObject === authority)
    }
}
