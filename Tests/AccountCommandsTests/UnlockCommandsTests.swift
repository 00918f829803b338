import ArgumentParser
import Testing

@testable import AccountCommands

@Suite struct UnlockCommandsTests {
    @Test(arguments: [
        ("1s", Duration.seconds(1)), ("30m", .seconds(1800)), ("8h", .seconds(28800)), ("1d", .seconds(86400)),
    ])
    func `Reads how long to unlock the archive`(text: String, duration: Duration) throws {
        #expect(try TimeSpan(option: text).duration == duration)
    }

    @Test(arguments: ["", "0s", "8", "h", "-1h", "8w", "1.5h", "99999999999d"])
    func `Rejects an invalid duration`(text: String) {
        let error = #expect(throws: ValidationError.self) { try TimeSpan(option: text) }
        #expect(error?.message.contains("8h or 30m") == true)
    }
}
