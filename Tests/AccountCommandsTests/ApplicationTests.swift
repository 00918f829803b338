import AccountKit
import AccountSupport
import ArgumentParser
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands

@Suite struct ApplicationTests {
    /// An app whose only service accepts passwords.
    private struct Passwords: PasswordAuthority {
        var issuer: String? { nil }

        func signIn(username: String, password: Secret) async throws -> Account {
            throw AuthorityError.unauthorized(error: nil)
        }
        func verify(_ account: Account) async throws -> Identity { throw AuthorityError.unauthorized(error: nil) }
        func isAuthority(of account: Account) -> Bool { true }
    }

    private enum Notes: AccountApplication {
        static let identifier = "com.example.notes"
        static func authority(with options: AuthorityOptions) -> any AccountAuthority {
            Passwords()
        }
    }

    private enum Digit: AccountApplication {
        static let identifier = "com.example.2do"
        static func authority(with options: AuthorityOptions) -> any AccountAuthority {
            Passwords()
        }
    }

    private enum Named: AccountApplication {
        static let identifier = "com.example.2do"
        static let environmentPrefix = "TWODO"
        static let version = "1.2.0"
        static func authority(with options: AuthorityOptions) -> any AccountAuthority {
            Passwords()
        }
    }

    private enum AnyService: AccountApplication {
        static let identifier = "com.example.any"
        static let acceptsIssuer = true
        static func authority(with options: AuthorityOptions) -> any AccountAuthority {
            Passwords()
        }
    }

    // MARK: The prefix of environment variables

    @Test func `Refuses an app identifier that cannot prefix an environment variable`() throws {
        let error = #expect(throws: AccountError.self) { try Digit.container() }
        #expect(error?.code == .invalidArgument)
        #expect(error?.description.contains("\"2DO\"") == true)
        #expect(error?.description.contains("environmentPrefix") == true)
        #expect(throws: AccountError.self) { try Digit.store() }
        #expect(try Named.container().identifier == "com.example.2do")
        #expect(try Notes.container().identifier == "com.example.notes")
    }

    // MARK: Help

    @Test func `Prints the version of the app, and always that of AccountKit`() {
        #expect(AccountCommand<Named>.configuration.version == "1.2.0 (AccountKit \(accountKitVersion))")
        #expect(AccountCommand<Notes>.configuration.version == accountKitVersion)
    }

    @Test func `The help of login lists the service first and common options last`() throws {
        let help = HelpText.withCommonOptionsLast(
            AccountCommand<AnyService>.helpMessage(for: LoginCommand<AnyService>.self, columns: 200))
        let order = [
            "\nARGUMENTS:\n", "\nOPTIONS:\n", "\n  --service ", "\n  --client-id ", "\n  --issuer ", "\n  --scope ",
            "\n  --web ", "\n  --device ", "\n  --with-token ", "\n  --redirect-uri ", "\n  --step-up ",
            "\n  -h, --help ", "\n\nCOMMON OPTIONS:\n", "\n  --session ", "\n  -v, --verbose ",
        ]
        var rest = help[...]
        for text in order { rest = rest[try #require(rest.firstRange(of: text), "\(text): \(help)").lowerBound...] }
        #expect(help.hasSuffix("\n") && !help.hasSuffix("\n\n"))
    }

    @Test(arguments: ["", "OPTIONS:", "OVERVIEW: x\n\nOPTIONS:\n  --a\n", "\n\nCOMMON OPTIONS:\n  --session\n"])
    func `Keeps a help text without common options unchanged`(help: String) {
        #expect(HelpText.withCommonOptionsLast(help) == help)
    }

    @Test func `Accepts options that the help does not show`() throws {
        #expect(try LoginCommand<Notes>.parse(["--device"]).ways.device)
        #expect(try LoginCommand<Notes>.parse(["--issuer", "https://a.example"]).issuer.issuer == "https://a.example")
    }

    @Test(arguments: [
        (["/usr/bin/account", "login"], "account"), (["notes", "account", "login", "--help"], "notes account"),
        (["./notes", "help", "account", "login"], "notes account"), (["notes", "-v", "account"], "notes account"),
        (["notes"], "notes"), ([], "account"),
    ])
    func `Uses the command that the user typed as the tool name`(arguments: [String], name: String) {
        #expect(CommandLine.toolName(of: arguments) == name)
    }

    // MARK: Hints

    @Test func `Names the sign-in command unless the token is from the environment`() {
        var signedOut = AccountError(.notSignedIn, "you have signed out", hint: "sign in again")
        signedOut.nameSignIn(command: "notes account login", orReplaceTokenIn: nil)
        #expect(signedOut.hint == "run `notes account login`")
        let advice = AccountError.hint(forTokenIn: "NOTES_TOKEN")
        var rejected = AccountError(.notSignedIn, "the service does not accept the token in NOTES_TOKEN", hint: advice)
        rejected.nameSignIn(command: "notes account login", orReplaceTokenIn: "NOTES_TOKEN")
        #expect(rejected.hint == advice)
    }

    @Test func `Names the sign-in command for a token that no program gets`() {
        var withheld = AccountError(withholding: Credentials(accessToken: Secret("a"), issuedAt: Date()))
        withheld.nameSignIn(command: "notes account login", orReplaceTokenIn: nil)
        #expect(withheld.hint == "if this continues, sign in again with `notes account login`")
    }

    @Test func `Names the sign-in command for an archive that does not open`() {
        var damaged = AccountError(
            .damaged, "Account.plist is truncated. You are not signed out; restore a backup, or sign in again")
        damaged.nameSignIn(command: "notes account login", orReplaceTokenIn: nil)
        #expect(damaged.message == "Account.plist is truncated. You are not signed out")
        #expect(damaged.hint == "restore a backup, or sign in again with `notes account login`")
        var missing = AccountError(.noKey, "there is no key", hint: "restore the key, or sign in again")
        missing.nameSignIn(command: "notes account login", orReplaceTokenIn: nil)
        #expect(missing.hint == "restore the key, or sign in again with `notes account login`")
        var shared = AccountError(.damaged, "the archive is damaged. You are not signed out; restore a backup")
        shared.nameSignIn(command: "notes account login", orReplaceTokenIn: nil)
        #expect(shared.hint == nil)
    }

    // MARK: Exit codes

    @Test func `Maps each error to its exit code from sysexits`() {
        let codes: [(AccountError.Code, Int32)] = [
            (.invalidArgument, 64), (.noKey, 65), (.wrongKeyOrDamaged, 65), (.damaged, 65),
            (.unsupportedVersion, 65),
            (.tooLarge, 65), (.insecureContainer, 65), (.serviceUnavailable, 69), (.requestRefused, 69),
            (.inaccessible, 74),
            (.durabilityUnknown, 74), (.busy, 75), (.conflict, 75), (.notSignedIn, 77), (.signInRefused, 77),
            (.misconfigured, 78), (.cancelled, 130), (.init(rawValue: "of an app"), 74),
        ]
        for (code, exitCode) in codes { #expect(AccountError(code, "").exitCode == exitCode, "\(code)") }
    }

    @Test func `Uses the same exit code for an insecure container as state and error`() {
        let error = AccountError(.insecureContainer, "")
        #expect(SessionState.unreadable(error).exitCode().rawValue == error.exitCode)
    }
}
