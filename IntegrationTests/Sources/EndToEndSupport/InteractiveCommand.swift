import Foundation
import Subprocess

extension Command {
    /// Runs the program while a closure writes to its standard input. The input ends with the closure.
    func withInput(_ dialog: (InteractiveCommand) async throws -> Void) async throws -> Outcome {
        // A named pipe, because `whileRunning` writes its input at once.
        let path = FileManager.default.temporaryDirectory.path + "/input-\(UUID().uuidString)"
        guard mkfifo(path, 0o600) == 0 else { throw Unexpected("mkfifo failed") }
        defer { unlink(path) }
        let shell = Command(
            words: ["sh", "-c", "path=$1; shift; exec \"$@\" <\"$path\"", "sh", path] + words, environment: environment)
        return try await shell.whileRunning { running in
            // Opening waits for the program, so open it on a separate thread.
            let file = await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: FileHandle(forWritingAtPath: path)) }
            }
            guard let file else { throw Unexpected("the pipe did not open") }
            try await dialog(InteractiveCommand(running: running, input: file))
            try file.close()
        }
    }
}

/// A running command with an open standard input.
struct InteractiveCommand {
    fileprivate let running: RunningCommand
    fileprivate let input: FileHandle

    var output: WrittenLines { running.output }
    var errors: WrittenLines { running.errors }

    func write(_ text: String) async throws { try input.write(contentsOf: Data(text.utf8)) }

    func send(_ signal: Signal) async throws { try await running.send(signal) }
}
