import AccountKit
import AccountSupport
import FoundationEssentials
import Testing

@testable import AccountHTTP

@Suite("Issuer forms")
struct IssuerFormTests {
    private static let tenant = "9122040d-6c67-4c5b-b112-36a304b66dad"

    private func issuer(_ text: String, _ form: Issuer.Form) throws -> Issuer {
        Issuer(try Issuer(text).url, form: form)
    }

    @Test(
        "Matches the issuer exactly by default",
        arguments: [
            ("https://accounts.example", true), ("https://accounts.example/", true), ("accounts.example", false),
            ("http://accounts.example", false), ("https://accounts.example/x", false), ("", false),
        ])
    func exact(text: String, isNamed: Bool) throws {
        #expect(try issuer("https://accounts.example", .exact).isNamed(by: text) == isNamed)
    }

    @Test(
        "Matches an issuer without its scheme if the entry allows it",
        arguments: [
            ("https://accounts.example", true), ("accounts.example", true), ("accounts.example.evil", false),
            ("http://accounts.example", false), ("evil/accounts.example", false), ("", false),
        ])
    func schemeOptional(text: String, isNamed: Bool) throws {
        #expect(try issuer("https://accounts.example", .schemeOptional).isNamed(by: text) == isNamed)
    }

    @Test(
        "Matches a Microsoft issuer with the user's tenant",
        arguments: [
            ("https://login.example/\(tenant)/v2.0", tenant, true),
            ("https://login.example/\(tenant)/v2.0", "other", false),
            ("https://login.example/\(tenant)/v2.0", "", false), ("https://login.example/{tenantid}/v2.0", nil, true),
            ("https://login.example/{tenantid}/v2.0", tenant, false), ("https://login.example/a/b/v2.0", nil, false),
            ("https://login.example//v2.0", nil, false), ("https://login.example/v2.0", nil, false),
            ("https://login.example/\(tenant)/v1.0", tenant, false),
            ("https://evil.example/\(tenant)/v2.0", tenant, false),
            ("https://login.example.evil/\(tenant)/v2.0", tenant, false),
            ("https://login.example/common/v2.0", "x", true),
        ])
    func perTenant(text: String, tenant: String?, isNamed: Bool) throws {
        #expect(
            try issuer("https://login.example/common/v2.0", .perTenant).isNamed(by: text, tenant: tenant) == isNamed)
    }

    @Test("Matches a given tenant only with itself")
    func namedTenant() throws {
        let issuer = try issuer("https://login.example/\(Self.tenant)/v2.0", .perTenant)
        #expect(issuer.isNamed(by: "https://login.example/\(Self.tenant)/v2.0", tenant: Self.tenant))
        #expect(!issuer.isNamed(by: "https://login.example/other/v2.0", tenant: "other"))
        #expect(!issuer.isNamed(by: "https://login.example/{tenantid}/v2.0"))
    }

    @Test("Sends a token only to its own issuer, whatever the issuer form")
    func account() throws {
        let issuer = try issuer("https://login.example/common/v2.0", .perTenant)
        #expect(!issuer.isSame(as: "https://login.example/\(Self.tenant)/v2.0"))
    }
}
