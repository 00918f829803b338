import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands

/// A token goes where its sign-in was for.
@Suite struct RuleSignInTests {
    private static let issuer = "https://id.example.com"

    private static func account(_ resources: [String], at issuer: String? = issuer) -> Account {
        var account = Account(
            id: "1", issuer: issuer,
            credentials: Credentials(accessToken: Secret("token"), issuedAt: Date(timeIntervalSince1970: 0)))
        account.credentials.resources = resources
        return account
    }

    private static let a = "https://a.example/mcp"
    private static let b = "https://b.example/mcp"

    @Test(
        arguments: [
            (a, [a], issuer, true), (a, [a], issuer + "/", true), (a, [a, b], issuer, true), (a, [b, a], issuer, true),
            (a, [a + "/"], issuer, true), (a, ["https://A.example:443/mcp"], issuer, true), (nil, [], issuer, true),
            (a, [b], issuer, false), (a, [], issuer, false), (nil, [a], issuer, false),
            (a, ["https://a.example"], issuer, false), (a, [a + "/deeper"], issuer, false),
            (a, [a + "?x=1"], issuer, false),
            (a, [a], "https://other.example", false), (nil, [], "https://other.example", false), (a, [a], nil, false),
            (a, ["http://a.example/mcp"], issuer, false), ("urn:x", ["urn:x"], issuer, true),
            ("urn:x", ["urn:y"], issuer, false),
        ] as [(String?, [String], String?, Bool)])
    func `A rule allows only a token of its issuer and for its API`(
        resource: String?, resources: [String], other: String?, isAllowed: Bool
    ) throws {
        let account = Self.account(resources, at: other)
        #expect(RuleSignIn(issuer: Self.issuer, resource: resource).allows(account) == isAllowed)
        var rule = Rule(
            url: try RuleURL(Self.a), session: .default, signIn: .init(issuer: Self.issuer, resource: resource))
        func check() throws { try rule.checkSignIn(of: account, CommandHint(tool: "account", session: .default)) }
        if isAllowed {
            try check()
        } else {
            #expect { try check() } throws: { error in
                let error = error as? AccountError
                return error?.code == .misconfigured && error?.hint?.contains("--session NAME`") == true
            }
        }
        // A rule that was made while no user was signed in.
        rule.signIn = nil
        try check()
    }

    @Test func `The error names the API of the token, and the command to run`() throws {
        let hint = CommandHint(tool: "account", session: .default)
        let rule = Rule(
            url: try RuleURL(Self.a), session: .default, signIn: RuleSignIn(issuer: Self.issuer, resource: Self.a))
        #expect {
            try rule.checkSignIn(of: Self.account([Self.b]), hint)
        } throws: { error in
            "\(error)".contains(Self.b) && "\(error)".contains("`account login \(Self.a) --session NAME`")
                && "\(error)".contains("`account rule add \(Self.a) --session default`")
        }
        let host = Rule(
            url: try RuleURL("https://git.example"), session: .default, signIn: RuleSignIn(issuer: Self.issuer))
        #expect {
            try host.checkSignIn(of: Self.account([Self.b]), hint)
        } throws: { error in
            "\(error)".contains("`account login --issuer \(Self.issuer) --session NAME`")
        }
    }

    @Test func `Remembers the resource of the rule's URL`() throws {
        let url = try RuleURL(Self.a + "/notes")
        for (resources, resource) in [
            ([], nil), ([Self.a], Self.a), ([Self.b, Self.a], Self.a), ([Self.b], Self.b),
            ([Self.b, "https://a.example"], "https://a.example"), (["urn:x"], "urn:x"),
        ] as [([String], String?)] {
            #expect(
                RuleSignIn(of: Self.account(resources), at: url) == RuleSignIn(issuer: Self.issuer, resource: resource))
        }
        #expect(RuleSignIn(of: Self.account([], at: nil), at: url) == nil)
    }

    @Test func `Binds a rule without a sign-in once, and stores the sign-in`() throws {
        var rules = RuleSet([Rule(url: try RuleURL(Self.a), session: .default)])
        let unbound = try PropertyListEncoder().encode(rules)
        #expect(try PropertyListDecoder().decode(RuleSet.self, from: unbound).rules.map(\.signIn) == [nil])
        // A new sign-in elsewhere does not take over the rules of the session.
        rules.bind(.default) { RuleSignIn(of: Self.account([Self.a]), at: $0) }
        let signIn = RuleSignIn(issuer: Self.issuer, resource: Self.a)
        #expect(rules.rules.map(\.signIn) == [signIn])
        rules.bind(.default) { _ in RuleSignIn(issuer: Self.issuer, resource: Self.b) }
        let bytes = try PropertyListEncoder().encode(rules)
        #expect(try PropertyListDecoder().decode(RuleSet.self, from: bytes).rules.map(\.signIn) == [signIn])
    }

    @Test func `A repeated sign-in renews the rule of its session only`() throws {
        let (old, new) = (
            RuleSignIn(issuer: Self.issuer, resource: Self.a),
            RuleSignIn(issuer: "https://new.example", resource: Self.a)
        )
        let url = try RuleURL(Self.a)
        var rules = RuleSet([Rule(url: url, session: .default, signIn: old)])
        let kept = rules.add(unlessRuled: Rule(url: url, session: try SessionName("other"), signIn: new))
        #expect(kept?.session == .default && rules.rules.map(\.signIn) == [old])
        #expect(rules.add(unlessRuled: Rule(url: url, session: .default, signIn: new)) == nil)
        #expect(rules.rules.map(\.signIn) == [new])
    }

    @Test func `Binds a rule without a sign-in to the sign-in before the new one`() throws {
        let new = Self.account([Self.b])
        let url = try RuleURL(Self.a)
        func signIn(_ earlier: Account?, _ remembered: AccountService?) -> RuleSignIn? {
            SignInBinding(
                account: new, earlier: earlier, service: AccountService(issuer: Self.issuer, url: Self.b),
                remembered: remembered
            ).signIn(at: url)
        }
        #expect(signIn(Self.account([Self.a]), nil)?.resource == Self.a)
        #expect(signIn(nil, AccountService(issuer: Self.issuer, url: Self.a))?.resource == Self.a)
        #expect(signIn(nil, AccountService(issuer: "https://other.example"))?.issuer == "https://other.example")
        #expect(signIn(nil, AccountService(issuer: Self.issuer, url: Self.b))?.resource == Self.b)
        #expect(signIn(nil, nil)?.resource == Self.b)
    }

    // MARK: The session of a sign-in

    @Test(
        arguments: [
            ([a], a, a, [a], false), ([a], a, b, [b], true), ([a], nil, b, [b], true), ([a, b], a, b, [b], false),
            ([a], a, b, [], true), ([a], a, a + "/notes", [], false), ([], nil, a, [a], false), ([], nil, a, [], false),
            ([], b, a, [a], true), ([], a, a, [a], false), ([], b, a, [], false), (["urn:x"], a, b, ["urn:x"], false),
            // Other spellings of the same URL.
            ([a], nil, a + "/", ["https://A.example:443/mcp/"], false), ([], a + "/", a, [a], false),
            ([], "https://A.example/mcp", a, [a], false), ([a + "?x=1"], nil, a, [a], true),
            // The API has renamed its resource.
            (["https://a.example"], a, a + "/", [a], false), ([a], a, a, ["https://a.example"], false),
            (["https://a.example"], nil, a, [a], true), ([b], a, a, [a], true), (["urn:x"], a, a, ["urn:y"], true),
        ] as [([String], String?, String, [String], Bool)])
    func `Recognizes a session for another API`(
        old: [String], remembered: String?, url: String, resources: [String], isOther: Bool
    ) {
        let account = Self.account(old)
        #expect(
            account.isForOtherAPI(signedInAt: remembered, than: url, resources, issuer: Self.issuer) == isOther)
        // Without metadata, only the issuer distinguishes two APIs.
        if old.isEmpty, resources.isEmpty, remembered != nil {
            #expect(account.isForOtherAPI(signedInAt: remembered, than: url, [], issuer: "https://other.example"))
        }
    }

    @Test(arguments: [
        ("https://api.example.com/mcp", 1, "api.example.com"), ("https://API.example.com", 2, "api.example.com-2"),
        ("http://127.0.0.1:8080/mcp", 1, "127.0.0.1"), ("http://[::1]:8080", 1, "1"),
        ("http://localhost", 3, "localhost-3"),
        ("https://xn--bcher-kva.example", 1, "xn--bcher-kva.example"),
        ("https://" + String(repeating: "a", count: 60) + ".example", 12, String(repeating: "a", count: 56) + "-12"),
    ])
    func `Names a session after the host of a URL`(url: String, number: Int, name: String) throws {
        #expect(SessionName(namedAfter: try RuleURL(url), number: number).rawValue == name)
    }

    @Test(
        arguments: [
            (a, [a], a), (a, [b], nil), (a, [], a), (a, ["https://a.example"], a),
            (a + "?t=1", [a + "?t=1"], a + "?t=1"),
            (a + "/notes", [a], a + "/notes"), (a, [a + "/notes"], nil), (nil, [a], nil),
        ] as [(String?, [String], String?)])
    func `Uses the remembered URL only for an account that is for it`(
        url: String?, resources: [String], used: String?
    ) {
        let remembered = AccountService(issuer: Self.issuer, url: url)
        #expect(AccountService(of: Self.account(resources), remembered: remembered).url == used)
    }
}
