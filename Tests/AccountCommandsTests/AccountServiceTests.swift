import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands

@Suite struct AccountServiceTests {
    private static let whole = {
        var service = AccountService(issuer: "https://auth.example.com", clientID: "tool")
        (service.name, service.scopes, service.usesDefaultScopes) = ("gitlab", ["openid"], false)
        (service.redirectURI, service.audience) = ("http://127.0.0.1:8400/callback", "api")
        service.resources = ["https://a.example", "https://b.example"]
        service.parameters = ["prompt": "login"]
        return service
    }()

    @Test(arguments: [true, false])
    func `Adds the given scopes to the default scopes only on request`(addsScopes: Bool) throws {
        var service = AccountService()
        (service.scopes, service.usesDefaultScopes) = (["notes"], addsScopes)
        let bytes = try PropertyListEncoder().encode(service)
        let read = try PropertyListDecoder().decode(AccountService.self, from: bytes)
        #expect(read.exactScopes == (addsScopes ? nil : ["notes"]))
        #expect(read.additionalScopes == (addsScopes ? ["notes"] : []))
        #expect(AccountService().exactScopes == nil)
    }

    @Test(arguments: [nil, true])
    func `Remembers whether the user named the issuer beside the URL`(isNamed: Bool?) throws {
        var service = AccountService(issuer: "https://login.example.net", url: "https://api.example.com")
        service.isIssuerNamed = isNamed
        let bytes = try PropertyListEncoder().encode(service)
        #expect(try PropertyListDecoder().decode(AccountService.self, from: bytes).isIssuerNamed == isNamed)
    }

    @Test(arguments: [nil, true])
    func `Remembers whether requests leave out resource`(omitsResource: Bool?) throws {
        var service = Self.whole
        service.omitsResource = omitsResource
        let bytes = try PropertyListEncoder().encode(service)
        #expect(try PropertyListDecoder().decode(AccountService.self, from: bytes) == service)
        // The settings may be lost, but the session stays.
        var account = account(issuer: "https://auth.example.com")
        account.credentials.omitsResource = omitsResource == true
        #expect(account.credentials.renewed(by: account.credentials).omitsResource == (omitsResource == true))
    }

    @Test func `Uses a given client secret only if the account's secret is unknown`() throws {
        #expect(AccountService().acceptsGivenSecret)
        var account = account(issuer: "https://auth.example.com")
        for (secret, isAccepted) in [(ClientSecret.unknown, true), (.none, false), (.secret(Secret("s")), false)] {
            account.credentials.clientSecret = secret
            // The secret in the environment is for the session that the user chose.
            #expect(!AccountService(of: account, remembered: Self.whole).acceptsGivenSecret)
            let service = AccountService(of: account, remembered: Self.whole, acceptsGivenSecret: true)
            #expect(service.acceptsGivenSecret == isAccepted)
            // The next sign-in accepts a given secret again.
            let bytes = try PropertyListEncoder().encode(service)
            #expect(try PropertyListDecoder().decode(AccountService.self, from: bytes).acceptsGivenSecret)
        }
    }

    @Test func `Accepts the client secret in the environment only for a client that may have it`() {
        func secret(of service: AccountService) -> Secret? {
            var service = service
            service.accept(Secret("given"))
            return service.clientSecret
        }
        var service = Self.whole
        #expect(secret(of: service) == Secret("given"))
        service.clientSecret = Secret("entered")
        #expect(secret(of: service) == Secret("entered"))
        // The tool registers itself there.
        #expect(secret(of: AccountService(url: "https://api.example.com")) == nil)
        #expect(secret(of: AccountService(clientID: "tool", url: "https://api.example.com")) == Secret("given"))
        #expect(secret(of: AccountService(of: account(issuer: "https://auth.example.com"), remembered: nil)) == nil)
    }

    private func account(issuer: String) -> Account {
        Account(
            id: "1", issuer: issuer,
            credentials: Credentials(
                accessToken: Secret("token"), scopes: ["granted", "b\u{1B}"], clientID: "other",
                issuedAt: Date(timeIntervalSince1970: 0)))
    }

    @Test func `Keeps an account's requested scopes instead of its granted scopes`() {
        func service(_ issuer: String, remembered: AccountService?) -> AccountService {
            AccountService(of: account(issuer: issuer), remembered: remembered, acceptsGivenSecret: true)
        }
        var expected = Self.whole
        expected.clientID = "other"
        #expect(service("https://auth.example.com", remembered: Self.whole) == expected)
        let other = AccountService(issuer: "https://other.example.com", clientID: "other")
        #expect(service("https://other.example.com", remembered: Self.whole) == other)
        #expect(service("https://other.example.com", remembered: nil) == other)
    }
}
