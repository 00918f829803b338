import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands
@testable import AccountHelpers

/// The protocol of git-credential(1), according to its manual.
@Suite struct GitCredentialTests {
    private func request(_ text: String) throws -> GitCredentialRequest { try GitCredentialRequest(Array(text.utf8)) }

    private func text(_ pieces: [OutputPiece]) -> String {
        pieces.map {
            switch $0 {
            case .text(let text): text
            case .secret(let secret): secret.reveal()
            }
        }.joined()
    }

    // MARK: Requests of git

    @Test func `Uses the last of several git values, and clears a list if one is empty`() throws {
        let read = try request("host=a.example\nhost=b.example\nwwwauth[]=Bearer\nwwwauth[]=\nwwwauth[]=Basic\n")
        #expect(read.host == "b.example")
        #expect(read.challenges == ["Basic"])
    }

    @Test(arguments: [
        "", "\n", "\nprotocol=https\nhost=a.example\n", "protocol=https\n", "host=a.example\n",
        "protocol=ssh\nhost=a.example\n", "protocol=cert\npath=/x.pem\n", "protocol=http\nhost=a.example\n",
        "protocol=https\nhost=\n", "protocol=https\nhost=a.example@evil.example\n",
        "protocol=https\nhost=a.example\r\n",
        "protocol=https\nhost=a.example\\\n", "protocol=https\nhost=a.example\npath=x/../y\n",
        "protocol=https\nhost=bücher.example\n", "url=https://a.example\n",
    ])
    func `Returns no URL for a git request that no rule can match`(text: String) throws {
        #expect(try request(text).url == nil)
    }

    @Test func `Ignores lines that a host with line breaks adds to a git request`() throws {
        // Git refuses to send a host with a line break. Without that check, git would send this request.
        let read = try request("protocol=https\nhost=evil.example\n\nhost=a.example\n")
        #expect(read.host == "evil.example")
    }

    @Test(arguments: ["host", "=x", "protocol=https\nhost=a\0b\n", "x\0y=1\n", "host a.example\n", " \n"])
    func `Rejects a git request line with a NUL or without a key and value`(text: String) {
        #expect(throws: GitCredentialRequest.Malformed.self) { try request(text) }
    }

    @Test func `Rejects invalid UTF-8 only in known keys of a git request`() throws {
        #expect(throws: GitCredentialRequest.Malformed.self) { try GitCredentialRequest(Array("host=".utf8) + [0xFF]) }
        #expect(
            try GitCredentialRequest(Array("later=".utf8) + [0xFF] + Array("\nhost=a.example\n".utf8)).host
                == "a.example")
    }

    @Test func `Ignores unknown keys of any length in a git request`() throws {
        let long = String(repeating: "x", count: 1 << 20)
        let read = try request("later=\(long)\n\(long)=1\nprotocol=https\nhost=a.example\nlater[]=\n")
        #expect(read.url == (try RuleURL("https://a.example")))
        #expect(try request("protocol=https\nhost=\(long)\n").url == nil)
        let many = try request(String(repeating: "wwwauth[]=Basic\n", count: 10_000))
        #expect(many.challenges.count < 100)
    }

    @Test func `Reads a refused token from git's password or credential`() throws {
        #expect(try request("username=a\npassword=t=1\n").refused == Secret("t=1"))
        #expect(try request("authtype=Bearer\ncredential=t1\n").refused == Secret("t1"))
        #expect(try request("authtype=bearer\npassword=t2\n").refused == Secret("t2"))
        #expect(try request("authtype=Digest\ncredential=t3\npassword=t4\n").refused == Secret("t4"))
        #expect(try request("authtype=Digest\ncredential=t3\n").refused == nil)
    }

    @Test(arguments: [
        ("", false), ("capability[]=authtype\n", true), ("capability[]=state\n", false),
        ("capability[]=authtype\nwwwauth[]=Basic realm=\"GitHub\"\n", false),
        ("capability[]=authtype\nwwwauth[]=Basic realm=\"bearer\"\n", false),
        ("capability[]=authtype\nwwwauth[]=BEARER realm=\"x\", error=\"invalid_token\"\n", true),
        ("capability[]=authtype\nwwwauth[]=Bearer\nwwwauth[]=Basic realm=\"x\"\n", true),
        ("wwwauth[]=Bearer\n", false), ("capability[]=authtype\nprotocol=https\nhost=git.example.com\n", true),
        ("capability[]=authtype\nprotocol=https\nhost=GitHub.com\n", false),
        ("capability[]=authtype\nprotocol=https\nhost=bitbucket.org\n", false),
        ("capability[]=authtype\nprotocol=https\nhost=bitbucket.org\nwwwauth[]=Bearer\n", true),
    ])
    func `Sends a Bearer header only if git and the server support it`(text: String, takesBearer: Bool) throws {
        #expect(try request(text).takesBearer == takesBearer)
    }

    // MARK: Responses to git

    @Test func `Writes a git capability before the lines that require it`() {
        let token = HelperToken(token: Secret("t0ken"), username: nil, expiresAt: nil)
        #expect(
            text(GitCredentialResponse.pieces(token, username: "oauth2", asBearer: true))
                == "capability[]=authtype\nauthtype=Bearer\ncredential=t0ken\nephemeral=1\nusername=oauth2\npassword=t0ken\n"
        )
    }

    @Test(arguments: ["a\nhost=evil.example", "a\0", "a b", "", "é", "a\u{7F}"])
    func `Rejects a token that contains more than one value`(token: String) {
        let error = #expect(throws: AccountError.self) { try Secret(token).fitForHeader() }
        #expect(error?.code == .misconfigured)
    }

    // MARK: The user name

    private func rule(_ url: String, username: String? = nil) throws -> Rule {
        Rule(url: try RuleURL(url), session: .default, username: username, directory: nil)
    }

    @Test(
        arguments: [
            ("https://github.com", nil, "", [], nil, "alice", "alice"),
            ("https://github.com", nil, "", [#"Basic realm="GitHub""#], nil, "alice", "alice"),
            ("https://gitlab.com", nil, "", [], nil, "alice", "oauth2"),
            ("https://registry.gitlab.com", nil, "", [], nil, "alice", "oauth2"),
            ("https://git.example.com", nil, "", [], "gitlab", "alice", "oauth2"),
            ("https://git.example.com", nil, "", [#"Basic realm="GitLab""#], nil, "alice", "oauth2"),
            ("https://git.example.com", nil, "", [#"Basic realm="Gitea""#], nil, "alice", "oauth2"),
            ("https://codeberg.org", nil, "", [], nil, "alice", "oauth2"),
            ("https://bitbucket.org", nil, "", [], nil, "alice", "x-token-auth"),
            (
                "https://git.example.com", nil, "", [#"Bearer"#, #"Basic realm="Atlassian Bitbucket""#], nil, nil,
                "x-token-auth"
            ),
            ("https://git.example.com", nil, "", [#"Basic realm="x""#], nil, "alice", "alice"),
            ("https://git.example.com", nil, "", [], nil, nil, "oauth2"),
            ("https://gitlab.com", nil, "bob", [], nil, "alice", "bob"),
            ("https://gitlab.com", "carol", "bob", [], "gitlab", "alice", "carol"),
        ] as [(String, String?, String, [String], String?, String?, String)])
    func `Sends git the user name that the service accepts`(
        url: String, username: String?, requested: String, challenges: [String], service: String?, account: String?,
        expected: String
    ) throws {
        let name = TokenUsername.name(
            rule: try rule(url, username: username), requested: requested, challenges: challenges, service: service,
            account: account)
        #expect(name == expected)
    }
}
