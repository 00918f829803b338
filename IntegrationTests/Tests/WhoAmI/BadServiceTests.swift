@testable import EndToEndSupport
import Testing

/// Invalid issuers, and services that send wrong or malformed responses.
@Suite(.queued)
struct BadServiceTests {
    static let issuers: [(issuer: String, word: String)] = [
        ("", "issuer"), ("auth.example.com", "did you mean https://auth.example.com?"),
        ("127.0.0.1:8080", "did you mean http://127.0.0.1:8080?"), ("not a URL", "not a well-formed URL"),
        ("ftp://auth.example.com", "https://"), ("file:///etc/passwd", "https://"),
        ("http://auth.example.com", "not encrypted"), ("HTTP://AUTH.EXAMPLE.COM", "not encrypted"),
        ("http://127.0.0.1.example.com", "not encrypted"), ("http://0.0.0.0", "not encrypted"),
        ("http://2130706433", "not encrypted"), ("http://0x7f.0.0.1", "not encrypted"),
        ("http://localhost.example.com", "not encrypted"), ("http://[::ffff:127.0.0.1]", "not encrypted"),
        ("http://localhost@example.com", "user name"), ("https://alice:hunter2@example.com", "user name"),
        ("https://auth.example.com?tenant=1", "query"), ("https://auth.example.com#top", "fragment"),
        ("https://auth.example.com\\@evil.example", "well-formed"), ("https://[::1", "well-formed"),
        ("https://auth.example.com:99999", "well-formed"), ("https://", "well-formed"),
        ("https://ex\u{e4}mple.com", "well-formed"), ("https://a\u{202e}b.com", "well-formed"),
    ]

    @Test(arguments: issuers)
    func `login rejects an unsafe issuer before any request, with the reason`(
        issuer: String, word: String
    ) async throws {
        try await Container.run { container in
            let login = try Tool.account(in: container).command(
                ["login", "--issuer=\(issuer)", "--username", "alice", "--password-stdin"])
            let (calls, outcome) = try await SystemCalls.during(login, in: container, input: "secret\n")
            #expect(outcome.exitCode == 64, "\(outcome)")
            #expect(outcome.output == "")
            #expect(outcome.errors.contains(word), "\(outcome)")
            #expect(!outcome.errors.contains("hunter2"))
            #expect(calls.onSockets == [])
            #expect(!container.exists(container.home))
        }
    }

    /// Changes to a discovery document, and the exit code of a sign-in that reads it.
    static let documents: [(members: [String: JSON], omitted: [String], exitCode: Int32, word: String)] = [
        (["issuer": .text("https://evil.example")], [], 78, "for another issuer, https://evil.example"),
        (["issuer": .text("http://127.0.0.1:1")], [], 78, "for another issuer"),
        ([:], ["issuer"], 78, "has no issuer"), (["issuer": .integer(17)], [], 69, "issuer is not a string"),
        ([:], ["token_endpoint"], 78, "has no token_endpoint"),
        (["token_endpoint": .null], [], 78, "has no token_endpoint"),
        (["token_endpoint": .integer(17)], [], 69, "token_endpoint is not a string"),
        (["token_endpoint": .text("http://evil.example/token")], [], 78, "token_endpoint is not encrypted"),
        (["token_endpoint": .text("/oauth/token")], [], 78, "token_endpoint"),
        (["token_endpoint": .text("javascript:alert(1)")], [], 78, "token_endpoint"),
        (["token_endpoint": .text("https://a:b@evil.example/token")], [], 78, "token_endpoint"),
        (["userinfo_endpoint": .text("http://evil.example/me")], [], 78, "userinfo_endpoint is not encrypted"),
        (["revocation_endpoint": .text("http://evil.example/r")], [], 78, "revocation_endpoint is not encrypted"),
    ]

    @Test(arguments: documents)
    func `Sends no password when the discovery document is invalid`(
        members: [String: JSON], omitted: [String], exitCode: Int32, word: String
    ) async throws {
        try await SignedInUser.run { user in
            let before = try user.container.files()
            try await user.server.alter(.discovery, omitting: omitted, setting: members)
            let outcome = try await user.account(
                "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
            #expect(outcome.exitCode == exitCode, "\(outcome)")
            #expect(outcome.errors.contains(word), "\(outcome)")
            #expect(try await user.server.log()["/oauth/token"] == 0)

            // A check keeps the signed-in user, too. The check ignores missing members that it does not need.
            let check = try await user.account("whoami", "--max-age", "0", "--json")
            #expect(check.exitCode == 0)
            if word == "has no token_endpoint" {
                return #expect(try check.document().state == "verified")
            }
            #expect(try check.document().reason == (exitCode == 78 ? "misconfigured" : "unclearReply"))
            #expect(try user.container.files() == before)
        }
    }

    static let expiries: [JSON] = [
        .text("36e2"), .integer(-5), .integer(0), .real(1e18), .real(0.5), .integer(1_900_000_000_000), .boolean(true),
        .null, .array([]), .text("soon"),
    ]

    @Test(arguments: expiries)
    func `Treats an invalid expiry as unknown instead of expired`(expiry: JSON) async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let user = SignedInUser(server: server, container: container, account: try .account(in: container))
                try await server.alter(.token, setting: ["expires_in": expiry])
                try await user.signIn()
                #expect(try await user.account("whoami", "--json").document().expiresAt == nil)
                #expect(try await user.account("status").output.contains("Expires     unknown\n"))
                let token = try await user.account("token", "--min-validity", "86400")
                #expect(token.exitCode == 0)
                #expect(try await user.account("whoami", "--verify").exitCode == 0)
                #expect(try await server.log()["refreshes"] == 0)
            }
        }
    }

    /// Changes that make a token response unusable.
    static let uselessResponses: [(members: [String: JSON], omitted: [String], exitCode: Int32, word: String)] = [
        ([:], ["access_token"], 69, "sent no access_token"),
        (["access_token": .integer(17)], [], 69, "sent no access_token"),
        (["access_token": .text("")], [], 69, "sent no access_token"),
        (["access_token": .null], [], 69, "sent no access_token"),
        (["access_token": .text("a b")], [], 69, "characters"),
        (["access_token": .text("a\r\nX: y")], [], 69, "characters"),
        (["access_token": .text("tökén")], [], 69, "characters"),
        (["token_type": .text("mac")], [], 69, "unsupported type"),
        (["token_type": .text("\u{1b}[2J")], [], 69, "unsupported type"),
        (["token_type": .integer(17)], [], 69, "token_type that is not a string"),
        ([:], ["access_token", "token_type", "refresh_token", "expires_in", "scope"], 69, "sent no access_token"),
    ]

    @Test(arguments: uselessResponses)
    func `An unusable token response leaves the session unchanged`(
        members: [String: JSON], omitted: [String], exitCode: Int32, word: String
    ) async throws {
        try await SignedInUser.run { user in
            let before = try user.container.files()
            try await user.server.alter(.token, omitting: omitted, setting: members)
            let outcome = try await user.account(
                "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
            #expect(outcome.exitCode == exitCode, "\(outcome)")
            #expect(outcome.output == "")
            #expect(outcome.errors.contains(word), "\(outcome)")
            #expect(!outcome.errors.contains("\u{1b}"))
            #expect(try user.container.files() == before)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
        }
    }

    /// Changes to optional members of a token response.
    static let oddResponses: [(members: [String: JSON], omitted: [String], isRefreshable: Bool)] = [
        ([:], ["token_type", "scope", "expires_in"], true), (["token_type": .text("BEARER")], [], true),
        (["scope": .integer(5)], [], true), (["scope": .list(["openid", "profile"])], [], true),
        ([:], ["refresh_token"], false), (["refresh_token": .text("")], [], false),
        (["refresh_token": .integer(17)], [], false), (["id_token": .text("not.a.jwt")], [], true),
        (["unknown": .object(["deep": .array([.null])])], [], true),
    ]

    @Test(arguments: oddResponses)
    func `Signs in when optional members of a token response are malformed`(
        members: [String: JSON], omitted: [String], isRefreshable: Bool
    ) async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let user = SignedInUser(server: server, container: container, account: try .account(in: container))
                try await server.alter(.token, omitting: omitted, setting: members)
                try await user.signIn()
                #expect(try await user.account("whoami", "--verify").output == "alice\n")
                #expect(try await user.account("refresh").exitCode == (isRefreshable ? 0 : 78))
            }
        }
    }

    @Test func `Accepts a numeric subject as the account's ID`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let user = SignedInUser(server: server, container: container, account: try .account(in: container))
                try await server.alter(.userInfo, setting: ["sub": .integer(1001)])
                // Otherwise AccountKit would read the user's ID from the ID token.
                try await server.alter(.token, omitting: ["id_token"])
                try await user.signIn()
                #expect(try await user.account("whoami", "--verify", "--json").document().account?.id == "1001")
            }
        }
    }

    @Test func `Strips control characters and line breaks from names`() async throws {
        try await SignedInUser.run { user in
            try await user.server.alter(
                .userInfo,
                setting: [
                    "preferred_username": .text("\u{1b}[2Jali\nce\u{7}\u{202e}"),
                    "name": .text("Ali\u{1b}[2Jce"), "email": .text("a\u{202e}@example.org"),
                    "locale": .text("\u{7}en"),
                ])
            for arguments in [
                ["whoami", "--max-age", "0"], ["whoami", "--offline"], ["status"], ["status", "--verbose"],
                ["sessions"], ["doctor"], ["whoami", "--verify", "--verbose"], ["logout"],
            ] {
                let outcome = try await user.account.run(arguments)
                #expect(outcome.exitCode == 0)
                let text = (outcome.output + outcome.errors).unicodeScalars
                #expect(!text.contains { "\u{1b}\u{7}\u{202e}".unicodeScalars.contains($0) }, "\(arguments)")
                guard arguments[0] == "whoami" else { continue }
                #expect(outcome.output.filter(\.isNewline) == "\n")
            }
        }
    }
}
