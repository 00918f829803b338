import AccountKit
import AccountTesting
import Testing

struct AccountTests {
    private static let credentials = Account.testing(at: ManualClock().now).credentials

    @Test func `Treats accounts as the same user if id and issuer match`() {
        let alice = Account(id: "1", issuer: "https://a.example", username: "alice", credentials: Self.credentials)
        var renamed = alice
        renamed.username = "ally"
        renamed.profile.points = 1
        #expect(alice.isSameUser(as: renamed))
        #expect(!alice.isSameUser(as: Account(id: "2", issuer: alice.issuer, credentials: Self.credentials)))
        #expect(!alice.isSameUser(as: Account(id: "1", issuer: "https://b.example", credentials: Self.credentials)))
        #expect(!alice.isSameUser(as: Account(id: "1", credentials: Self.credentials)))
    }

    @Test func `Decodes integers as user ids`() {
        #expect(Account(id: 42, credentials: Self.credentials).id == "42")
        #expect(Account(id: UInt64.max, credentials: Self.credentials).id == "18446744073709551615")
        #expect(Identity(id: -1).id == "-1")
    }

    @Test func `Uses the username, a profile field or the id as display name`() {
        var account = Account(id: "1", username: "alice", credentials: Self.credentials)
        account.profile = ["name": "Alice Liddell", "email": "alice@example.com", "nickname": "Al"]
        #expect(account.displayName == "alice")
        account.username = nil
        #expect(account.displayName == "Alice Liddell")
        account.profile.name = " "
        #expect(account.displayName == "alice@example.com")
        account.profile.email = ""
        #expect(account.displayName == "Al")
        account.profile["nickname"] = 7
        #expect(account.displayName == "1")
    }

    @Test(
        arguments: [
            (["https://api.example.com/mcp"], "https://id.example.com", "api.example.com"),
            (["https://api.example.com:8443/mcp?x=1"], nil, "api.example.com:8443"),
            (["https://api.example.com"], nil, "api.example.com"),
            (["https://[::1]:8080/mcp"], nil, "[::1]:8080"), (["https://api.example.com?x"], nil, "api.example.com"),
            (["urn:example:api", "https://b.example/x"], "https://id.example.com", "b.example"),
            (["urn:example:api"], "https://id.example.com/tenant", "id.example.com"),
            ([], "https://id.example.com", "id.example.com"),
            (["https://user:secret@api.example.com"], "https://id.example.com", "id.example.com"), ([], nil, "an API"),
        ] as [([String], String?, String)])
    func `Names an account after its API if the service names no user`(
        resources: [String], issuer: String?, name: String
    ) {
        for id in ["local:8F3B", ""] {
            var account = Account(id: id, issuer: issuer, credentials: Self.credentials)
            account.credentials.resources = resources
            #expect(account.displayName == name && account.isNamedAfterAPI)
            account.username = "alice"
            #expect(account.displayName == "alice" && !account.isNamedAfterAPI)
        }
    }

    @Test func `Leaves an account unchanged when a copy changes`() {
        let alice = Account(id: "1", username: "alice", credentials: Self.credentials, profile: ["points": 1])
        var copy = alice
        #expect(copy == alice)
        copy.username = "ally"
        copy.profile.points = 2
        copy.credentials.scopes = ["all"]
        #expect(alice.username == "alice")
        #expect(alice.profile.points == 1)
        #expect(alice.credentials == Self.credentials)
        #expect(copy != alice)
        copy = Account(id: "1", username: "alice", credentials: Self.credentials, profile: ["points": 1])
        #expect(copy == alice)
    }

    @Test func `Shows an account's properties but no token in a dump`() {
        var text = ""
        dump(Account(id: "4711", username: "alice", credentials: Self.credentials, profile: ["points": 12]), to: &text)
        for part in ["4711", "alice", "points", "12", "tokenType"] { #expect(text.contains(part)) }
        #expect(!text.contains(Self.credentials.accessToken.reveal()))
    }
}
