import AccountKit
import Testing

@testable import AccountCommands

@Suite struct CommandHintTests {
    @Test func `Writes the session and store before other options in a command hint`() throws {
        let work = try SessionName("work")
        let hint = CommandHint(tool: "gists account", session: work, store: "etcds://a.example:2379/gists")
        let options = "--session work --store etcds://a.example:2379/gists"
        #expect(hint.command("login") == "gists account login \(options)")
        #expect(hint.command("login", "--scope openid") == "gists account login \(options) --scope openid")
        #expect(hint.command("key status") == "gists account key status \(options)")
    }

    @Test func `Omits the session from a command hint if it needs no name`() {
        #expect(CommandHint(tool: "account", session: .default, isNamed: false).command("login") == "account login")
        #expect(CommandHint(tool: "account", session: .default).command("login") == "account login --session default")
    }

    @Test func `Names the tool and the session if an API requires more scopes`() throws {
        let requirement = AccessRequirement(scopes: ["notes:write", "a`b"])
        var error = AccountError(requirement, at: "https://api.example.com", in: try SessionName("work"))
        error.nameSignIn(command: "notes account login", orReplaceTokenIn: nil)
        #expect(
            error.hint == "run `notes account login --step-up --scope=notes:write --scope='a`b' --session=work`")

        error = AccountError(AccessRequirement(maxAge: .zero), at: "https://api.example.com", in: .default)
        error.nameSignIn(command: "account login", orReplaceTokenIn: nil)
        #expect(error.hint == "run `account login --step-up`")

        error = AccountError(.requestRefused, "404: sign in again (with `login --step-up --scope=gist`)")
        error.nameSignIn(command: "gists account login", orReplaceTokenIn: nil)
        #expect(error.message == "404: sign in again (with `gists account login --step-up --scope=gist`)")
        let hint = CommandHint(tool: "gists account", session: .default, isNamed: false)
        #expect(hint.naming("with `login --step-up`, or log in") == "with `gists account login --step-up`, or log in")
    }

    @Test func `Quotes a command hint so that a shell reads it unchanged`() throws {
        let hyphen = try SessionName("-x")
        #expect(CommandHint(tool: "account", session: hyphen).command("login") == "account login --session=-x")
        let hint = CommandHint(tool: "account", session: .default, isNamed: false, store: "etcd://a b")
        #expect(hint.command("login") == "account login --store 'etcd://a b'")
    }
}
