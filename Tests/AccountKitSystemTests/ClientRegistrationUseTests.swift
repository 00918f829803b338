import AccountKit
import AccountTesting
import Foundation
import Testing

/// Sign-ins that use a registration while a sign-out removes it.
@Suite struct ClientRegistrationUseTests {
    private let folder: TemporaryFolder
    private let registrations: ClientRegistrations
    private let issuer = "https://id.example"
    private let registration: ClientRegistration

    init() async throws {
        folder = try TemporaryFolder()
        registrations = ClientRegistrations(container: try folder.container())
        let complete = ClientRegistration(
            issuer: issuer, clientID: "client", redirectURI: "http://127.0.0.1:8400/callback", scopes: [],
            management: .init(url: "https://id.example/register/1", token: Secret("management")),
            createdAt: Date(timeIntervalSince1970: 1_800_000_000))
        registration = try await registrations.renew(at: issuer) { _ in complete }
    }

    /// Returns whether the registration was removed at the service.
    private func isRemoved(isUsed: Bool = false, clientID: String = "client") async throws -> Bool {
        var isRemoved = false
        try await registrations.remove(clientID: clientID, at: issuer) {
            isUsed
        } removingAtService: { removed in
            #expect(removed == registration)
            isRemoved = true
        }
        return isRemoved
    }

    @Test func `Removes a registration only if neither a session nor a sign-in uses it`() async throws {
        let uses = [try await registrations.beginUse(at: issuer), try await registrations.beginUse(at: issuer)]
        for use in uses {
            #expect(try await !isRemoved())
            #expect(try await !registrations.isUnused(at: issuer))
            use.end()
        }
        #expect(try await registrations.isUnused(at: issuer))
        #expect(try await !isRemoved(isUsed: true))
        #expect(try await !isRemoved(clientID: "another"))
        #expect(try await registrations.registration(at: issuer) == registration)
        #expect(try await isRemoved())
        #expect(try await registrations.registration(at: issuer) == nil)
    }

    @Test func `Removes a replaced registration only if nothing uses it`() async throws {
        var new = registration
        new.clientID = "new"
        var removed: [String] = []
        func remove(_ registration: ClientRegistration, isUsed: Bool = false) async throws {
            try await registrations.removeReplaced(registration) {
                isUsed
            } removingAtService: { registration in
                removed.append(registration.clientID)
            }
        }
        try await remove(registration)
        let chosen = new
        new = try await registrations.renew(at: issuer) { _ in chosen }
        let use = try await registrations.beginUse(at: issuer)
        try await remove(registration)
        use.end()
        try await remove(registration, isUsed: true)
        try await remove(new)
        #expect(removed == [])
        try await remove(registration)
        #expect(removed == ["client"])
        #expect(try await registrations.registration(at: issuer) == new)
    }

    @Test func `No sign-in begins to use a registration during its removal`() async throws {
        try await registrations.remove(clientID: registration.clientID, at: issuer) {
            false
        } removingAtService: { _ in
            await expectAccountError(.busy) { try await registrations.beginUse(at: issuer) }
            await expectAccountError(.busy) {
                try await registrations.renew(at: issuer, timeout: .zero) { try #require($0) }
            }
        }
        try await registrations.beginUse(at: issuer).end()
    }

    @Test func `Uses at another service do not prevent a removal`() async throws {
        let use = try await registrations.beginUse(at: "https://other.example")
        #expect(try await isRemoved())
        use.end()
    }
}
