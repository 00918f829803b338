import AccountKit
import ArgumentParser
import Testing

@testable import AccountCommands

/// Errors in the arguments have the format of all errors: a message, and advice on the next line.
@Suite struct UsageMessageTests {
    @Test(arguments: [
        (
            "--offline and --verify cannot be combined", "--offline and --verify cannot be combined",
            "see `account --help`"
        ),
        ("Unknown option '--token'. Did you mean '--store'?", "unknown option '--token'", "see `account --help`"),
        (
            "Unknown option '--offlin'. Did you mean '--offline'?", "unknown option '--offlin'",
            "did you mean '--offline'? See `account --help`"
        ),
        ("Unknown option '--frob'. Did you mean '--force'?", "unknown option '--frob'", "see `account --help`"),
        (
            "The value '8' is invalid for '--for <duration>': use a number with a unit, such as 8h or 30m",
            "the value '8' is invalid for '--for <duration>'", "use a number with a unit, such as 8h or 30m"
        ),
        (
            "The value 'x' is invalid for '<kind>'. Please provide one of 'a' and 'b'.",
            "the value 'x' is invalid for '<kind>'", "please provide one of 'a' and 'b'"
        ),
        (
            "The option '--password' does not take any value, but 'it's secret' was specified.",
            "the option '--password' does not take any value", "see `account --help`"
        ),
        ("Missing expected argument '<name>'", "missing expected argument '<name>'", "see `account --help`"),
    ])
    func `Separates the advice from the message`(text: String, message: String, hint: String) {
        let error = UsageMessage.error(text, help: "account --help")
        #expect(error.code == .invalidArgument)
        #expect(error.message == message)
        #expect(error.hint == hint)
    }

    @Test(arguments: ["Unknown option '--token'", "Unknown option '--token'. Did you mean '--store'?"])
    func `login suggests --with-token for --token`(text: String) {
        let error = UsageMessage.error(text, help: "account login --help")
        #expect(error.message == "unknown option '--token'")
        #expect(error.hint == "did you mean '--with-token'? See `account login --help`")
    }

    @Test func `A validation error may contain its advice`() {
        let error = ValidationError("the registries are missing", hint: "for example, ghcr.io")
        let shown = UsageMessage.error("\(error)", help: "account --help")
        #expect(shown.message == "the registries are missing" && shown.hint == "for example, ghcr.io")
    }
}
