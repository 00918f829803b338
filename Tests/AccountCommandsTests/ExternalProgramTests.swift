import AccountKit
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

    /// Subprocess drops programs that it has not started at the end of the process, and the runtime then reports the
    /// tasks that wait for them.
    @Test func `A process can end while it still launches programs`() async {
        let result = await #expect(
            processExitsWith: .success, observing: [\.standardOutputContent, \.standardErrorContent]
        ) {
            for _ in 0..<32 {
                ExternalProgram.launch(firstOf: [.init(["sh", "-c", "echo launched; echo launched >&2"])])
            }
            exit(0)
        }
        // The testing library may write there too.
        let output = (result?.standardOutputContent ?? []) + (result?.standardErrorContent ?? [])
        let text = String(decoding: output, as: UTF8.self)
        #expect(!text.contains("CONTINUATION") && !text.contains("launched"), "\(text)")
    }

    @Test func `Launches the first program that succeeds`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "launch-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let pipe = folder + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        let end = open(pipe, O_RDONLY | O_NONBLOCK)
        try #require(end >= 0)
        defer { close(end) }
        let words = ["sh", "-c", #"echo "$1" >"$2""#, "sh"]
        ExternalProgram.launch(
            firstOf: [
                .init(["account-no-such-program"]), .init(["false"]), .init(words + ["second", pipe]),
                .init(words + ["third", pipe]),
            ])
        var entry = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, 60_000) == 1)
        var text = [UInt8](repeating: 0, count: 100)
        let count = read(end, &text, text.count)
        #expect(String(decoding: text.prefix(max(count, 0)), as: UTF8.self) == "second\n")
    }

    @Test func `A launched program reads its input, and then its end`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "launch-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(ChildProcess.succeeds(["sh", "-c", #"cat >"$1""#, "sh", folder + "/input"], input: "https://a/?b=c\n"))
        #expect(try String(contentsOfFile: folder + "/input", encoding: .utf8) == "https://a/?b=c\n")
        #expect(ChildProcess.succeeds(["true"], input: "unread"))
    }

    @Test func `Passes the URL of a QR code outside the arguments`() async {
        // The program prints its arguments.
        let code = await QRCode(of: "https://example.com/device?user_code=WDJB-MJHT", with: "echo")
        #expect(code?.text == "--type=UTF8 --margin=2\n")
    }
}
