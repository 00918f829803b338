import AccountTesting
import FoundationEssentials
import Testing

@testable import AccountKit

struct ClientRegistrationsTests {
    private let storage = InMemoryArchiveStorage()
    private let issuer = "https://id.example"

    private func registrations(key: UInt8 = 1) -> ClientRegistrations {
        ClientRegistrations(
            storage: storage, key: TestKey(.keyFile, key), appIdentifier: "test", clock: ManualClock(Fixture.now))
    }

    private static let complete = ClientRegistration(
        issuer: "https://id.example", clientID: "client", clientSecret: Secret("secret"),
        secretExpiresAt: Fixture.now, clientAuthentication: "client_secret_post",
        redirectURI: "http://127.0.0.1:8400/callback", scopes: ["openid", "email"],
        grants: ["authorization_code", "refresh_token"],
        management: .init(url: "https://id.example/register/1", token: Secret("management")), createdAt: Fixture.now)

    private static let bare = ClientRegistration(
        issuer: "https://id.example", clientID: "bare", redirectURI: "http://127.0.0.1:8400/callback", scopes: [],
        createdAt: Fixture.now)

    @Test(arguments: [complete, bare])
    func `Stores a registration and returns it unchanged`(registration: ClientRegistration) async throws {
        #expect(try await registrations().registration(at: issuer) == nil)
        _ = try await registrations().renew(at: issuer) { stored in
            #expect(stored == nil)
            return registration
        }
        #expect(try await registrations().registration(at: issuer) == registration)
    }

    @Test func `Keeps the stored registration if it is chosen`() async throws {
        _ = try await registrations().renew(at: issuer) { _ in Self.complete }
        let entry = ClientRegistrations.entry(of: issuer)
        let revision = try await storage.read(entry)?.revision
        _ = try await registrations().renew(at: issuer) { try #require($0) }
        #expect(try await storage.read(entry)?.revision == revision)
    }

    @Test func `Stores nothing if the registration fails`() async throws {
        struct Failure: Error {}
        await #expect(throws: Failure.self) {
            try await registrations().renew(at: issuer) { _ in throw Failure() }
        }
        #expect(try await storage.read(ClientRegistrations.entry(of: issuer)) == nil)
    }

    @Test func `Registers nothing if no key can encrypt the registration`() async throws {
        let failure = AccountError(.damaged, "the key file does not have 32 bytes")
        let registrations = ClientRegistrations(
            storage: storage, key: TestKey(.keyFile, failingWith: failure), appIdentifier: "test",
            clock: ManualClock(Fixture.now))
        let error = await #expect(throws: AccountError.self) {
            try await registrations.renew(at: issuer) { _ in
                Issue.record("the app was registered")
                return Self.complete
            }
        }
        #expect(error?.code == .damaged)
    }

    @Test func `Registrations of two issuers do not open in each other's place`() async throws {
        _ = try await registrations().renew(at: issuer) { _ in Self.complete }
        let other = "https://other.example"
        let bytes = try #require(try await storage.read(ClientRegistrations.entry(of: issuer))).bytes
        try await storage.withTransaction(timeout: .zero) { transaction in
            _ = try await transaction.replace(ClientRegistrations.entry(of: other), with: bytes, ifRevision: nil)
        }
        #expect(try await registrations().registration(at: other) == nil)
        #expect(try await registrations().registration(at: issuer) == Self.complete)
    }

    @Test func `Replaces a registration that cannot be opened`() async throws {
        _ = try await registrations(key: 1).renew(at: issuer) { _ in Self.complete }
        #expect(try await registrations(key: 2).registration(at: issuer) == nil)
        _ = try await registrations(key: 2).renew(at: issuer) { stored in
            #expect(stored == nil)
            return Self.bare
        }
        #expect(try await registrations(key: 2).registration(at: issuer) == Self.bare)
    }

    @Test func `Tasks that register at once end with one registration`() async throws {
        let clients = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 1...8 {
                group.addTask {
                    try await registrations().renew(at: issuer) { stored in
                        if let stored { return stored }
                        var new = Self.bare
                        new.clientID = "client-\(number)"
                        return new
                    }.clientID
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(clients.count == 1)
    }

    @Test func `Removes only the registration that is stored`() async throws {
        _ = try await registrations().renew(at: issuer) { _ in Self.complete }
        try await registrations().remove(Self.bare)
        #expect(try await registrations().registration(at: issuer) == Self.complete)
        try await registrations().remove(Self.complete)
        #expect(try await storage.read(ClientRegistrations.entry(of: issuer)) == nil)
    }

    @Test func `Keeps a registration that sessions on other machines may use`() async throws {
        _ = try await registrations().renew(at: issuer) { _ in Self.complete }
        try await registrations().keep(clientID: "another", at: issuer)
        #expect(try await registrations().registration(at: issuer) == Self.complete)
        try await registrations().keep(clientID: Self.complete.clientID, at: issuer)
        var kept = Self.complete
        kept.management = nil
        #expect(try await registrations().registration(at: issuer) == kept)
        try await registrations().keep(clientID: "client", at: "https://other.example")
        #expect(try await registrations().registration(at: "https://other.example") == nil)
    }

    @Test func `Keeps a registration that the service could not remove`() async throws {
        _ = try await registrations().renew(at: issuer) { _ in Self.complete }
        await expectAccountError(.serviceUnavailable) {
            try await registrations().remove(clientID: "client", at: issuer) {
                false
            } removingAtService: { _ in
                throw AccountError(.serviceUnavailable, "503")
            }
        }
        #expect(try await registrations().registration(at: issuer) == Self.complete)
    }

    @Test func `A copy without the key shows no value of a registration`() async throws {
        let issuer = "https://canary-issuer.example"
        let registration = ClientRegistration(
            issuer: issuer, clientID: "canary-client", clientSecret: Secret("canary-secret"),
            redirectURI: "http://127.0.0.1:8400/canary", scopes: ["canary-scope"],
            management: .init(url: issuer + "/register/1", token: Secret("canary-token")), createdAt: Fixture.now)
        _ = try await registrations().renew(at: issuer) { _ in registration }
        #expect(storage.entries.count == 1)
        for (entry, stored) in storage.entries {
            #expect(!entry.rawValue.contains("canary"))
            #expect(stored.bytes.firstRange(of: "canary".utf8) == nil)
        }
        #expect(try await registrations(key: 2).registration(at: issuer) == nil)
    }

    @Test func `The record contains no secret`() throws {
        var registration = Self.complete
        registration.clientSecret = Secret("CANARY-1")
        registration.management?.token = Secret("CANARY-2")
        #expect(try registration.recordSection.firstRange(of: "CANARY".utf8) == nil)
        #expect(try registration.decoded(as: ClientRegistration.self) == registration)
    }
}

struct CredentialsResourcesTests {
    @Test func `An account stores the resources of its sign-in`() throws {
        var account = Fixture.alice
        account.credentials.resources = ["https://api.example/mcp"]
        #expect(try account.decoded(as: Account.self).credentials.resources == ["https://api.example/mcp"])
    }

    @Test func `An account without resources has no such field`() {
        #expect(Fixture.alice.sealedRecord["resources"] == nil)
    }

    @Test func `A refresh keeps the resources of the sign-in`() {
        var credentials = Fixture.alice.credentials
        credentials.resources = ["https://api.example/mcp"]
        let renewed = credentials.renewed(by: Credentials(accessToken: Secret("new"), issuedAt: Fixture.now))
        #expect(renewed.resources == ["https://api.example/mcp"])
    }
}
