import Foundation
import Testing

@testable import AccountCommands

@Suite struct ExternalProgramTests {
    @Test func `Hides secret variables from external programs`() async throws {
        let names = ProcessInfo.processInfo.environment.keys.filter { $0 != "PATH" }.sorted()
        let hidden = try #require(names.first)
        let shown = try #require(await ExternalProgram.output(of: "env", [], hiding: [hidden]))
        let variables = Set(shown.split(separator: "\n").map { $0.prefix { $0 != "=" } })
        #expect(!variables.contains(hidden[...]))
        #expect(variables.contains("PATH"))
        #expect(try #require(await ExternalProgram.output(of: "env", [])).contains(hidden + "="))
    }

    @Test func `Passes input to an external program on standard input`() async {
        #expect(await ExternalProgram.output(of: "cat", [], input: "a b\nc") == "a b\nc")
        #expect(await ExternalProgram.output(of: "cat", []) == "")
        // The program need not read its input.
        #expect(await ExternalProgram.output(of: "true", [], input: "unread") == "")
    }

    @Test func `Returns an output of several hundred kilobytes`() async {
        let output = await ExternalProgram.output(of: "head", ["-c", "500000", "/dev/zero"])
        #expect(output?.utf8.count == 500_000)
        #expect(await ExternalProgram.output(of: "head", ["-c", "5000000", "/dev/zero"]) == nil)
    }

    @Test func `Passes the URL of a QR code outside the arguments`() async {
        // The program prints its arguments.
        let code = await QRCode(of: "https://example.com/device?user_code=WDJB-MJHT", with: "echo")
        #expect(code?.text == "--type=UTF8 --margin=2\n")
    }
}
