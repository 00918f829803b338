import AccountKit
import Testing

@testable import AccountCommands

@Suite struct CommandWordingTests {
    @Test(arguments: [
        ("name it yourself (on a command line, with --issuer URL)", "name it yourself with --issuer URL"),
        ("requires a client ID (on a command line, --client-id ID)", "requires a client ID (--client-id ID)"),
        (
            "sign in (on a command line, with --web) or without a key (on a command line, with --no-dpop). Done",
            "sign in with --web or without a key with --no-dpop. Done"
        ),
        ("pass one scope per list element", "repeat --scope for each scope"), ("try again", "try again"),
    ])
    func `Replaces the words for developers by those of the commands`(text: String, shown: String) {
        #expect(text.inCommandWords == shown)
    }

    @Test func `Errors of a command contain no words for developers`() {
        var error = AccountError(
            .insufficientScope, "the API requires more (on a command line, with `login --step-up`)",
            hint: "sign in again for it (on a command line, with `login --scope a`)")
        error.nameSignIn(command: "notes account login", orReplaceTokenIn: nil)
        #expect(error.message == "the API requires more with `notes account login --step-up`")
        #expect(error.hint == "sign in again for it with `login --scope a`")
    }
}
