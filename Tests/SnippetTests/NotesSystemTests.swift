import BoundedWaiting
import Foundation
import Testing

/// Runs the tool of the README as a user would.
struct NotesSystemTests {
    private func notes(_ arguments: String...) throws -> (code: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appending(path: "snippet-notes")
        process.arguments = arguments
        let root = FileManager.default.temporaryDirectory.appending(path: "notes-\(UUID())")
        defer { try? FileManager.default.removeItem(at: root) }
        process.environment = ["NOTES_HOME": root.path]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.allBytes()
        try process.waitForEnd()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    @Test func `Reports how to sign in if the user of the README's tool is signed out`() throws {
        let greeting = try notes()
        #expect(greeting.code != 0)
        #expect(greeting.output.contains("Hello stranger\n"))
        #expect(greeting.output.contains("Run `snippet-notes account login`."))
        let whoami = try notes("account", "whoami")
        #expect(whoami.code == 77)
        #expect(whoami.output.contains("account login"))
    }
}
