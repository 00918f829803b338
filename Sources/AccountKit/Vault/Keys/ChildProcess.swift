import CAccountKitShims
import AccountCrypto
import AccountSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

package enum ChildProcess {
    package struct Failure: Error {
        package var text: String
    }

    /// Runs a program without a shell, and reads its output directly into guarded memory.
    ///
    /// - Parameters:
    ///   - purpose: The purpose of the program, which determines the variables that it gets.
    ///   - hidden: More variables that the program must not get.
    ///   - limit: The maximum number of bytes that the program may print. The limit must be less than the size of a
    ///     pipe, since the bytes are read after the program has ended.
    package static func output(
        of command: [String], for purpose: SecretVariables.Purpose, hiding hidden: [String] = [], limit: Int,
        timeout: Duration
    ) async throws(Failure) -> Secret {
        let hidden = SecretVariables.names(hiddenFrom: purpose) + hidden
        var ends: [Int32] = [0, 0]
        guard accountkit_pipe(&ends) == 0 else { throw failure("could not be started", errno) }
        let reading = FileDescriptor(adopting: ends[0], path: command[0])
        let writingEnd = ends[1]
        // The program may be on a slow disk.
        let process = try await BlockingWork.run { () throws(Failure) in
            let writing = FileDescriptor(adopting: writingEnd, path: command[0])
            return try start(command, hiding: hidden, output: writing.number)
        }
        let status = try await end(of: process, timeout: timeout)
        // The low seven bits are the signal, the next eight the exit code (wait(2)).
        guard status & 0x7F == 0 else { throw Failure(text: "was killed by signal \(status & 0x7F)") }
        guard status >> 8 & 0xFF == 0 else { throw Failure(text: "ended with \(status >> 8 & 0xFF)") }
        var count = 0
        let bytes: GuardedBytes
        do {
            bytes = try GuardedBytes(count: limit + 1) { buffer throws(SystemCallError) in
                count = try reading.read(into: buffer)
            }
        } catch {
            throw Failure(text: "printed output that could not be read: \(error.userText)")
        }
        guard count <= limit else { throw Failure(text: "printed more than \(limit) bytes") }
        return Secret(bytes, range: 0..<count)
    }

    /// Runs a program without a shell, discards its output, and blocks the thread until it ends. Returns whether the
    /// program succeeded.
    ///
    /// - Parameter input: The standard input, which must be shorter than a pipe.
    package static func succeeds(_ command: [String], input: String? = nil) -> Bool {
        let hidden = SecretVariables.names(hiddenFrom: .other)
        // A program that cannot be started has failed.
        guard let process = try? start(command, hiding: hidden, input: input) else { return false }
        var status: Int32 = 0
        while waitpid(process, &status, 0) == -1 {
            // If this process ignores SIGCHLD, the system keeps no exit status (wait(2)), so the outcome is unknown.
            guard errno == EINTR else { return true }
        }
        return status == 0
    }

    private static func start(_ command: [String], hiding hidden: [String], input: String?) throws(Failure) -> pid_t {
        guard let input else { return try start(command, hiding: hidden, output: -1) }
        var ends: [Int32] = [0, 0]
        guard accountkit_pipe(&ends) == 0 else { throw failure("could not be started", errno) }
        let reading = FileDescriptor(adopting: ends[0], path: command[0])
        do {
            // The pipe holds the whole input, and ends after it.
            try FileDescriptor(adopting: ends[1], path: command[0]).write(Array(input.utf8))
        } catch {
            throw failure("got no input", error.errno)
        }
        return try start(command, hiding: hidden, input: reading.number, output: -1)
    }

    /// Starts a program. If `input` is negative, its input is empty; if `output` is negative, its output is discarded.
    private static func start(
        _ command: [String], hiding hidden: [String], input: Int32 = -1, output: Int32
    ) throws(Failure) -> pid_t {
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        var names: [UnsafeMutablePointer<CChar>?] = hidden.map { strdup($0) } + [nil]
        defer { for text in arguments + names { free(text) } }
        var process: pid_t = 0
        let status = accountkit_spawn(&arguments, &names, input, output, &process)
        guard status == 0 else { throw failure("could not be started", status) }
        return process
    }

    /// Polls for the end of a process. Waiting would block a thread while the user answers a question of the program.
    private static func end(of process: pid_t, timeout: Duration) async throws(Failure) -> Int32 {
        let deadline = ContinuousClock.now.advanced(by: timeout)
        var pause = Duration.milliseconds(1)
        var status: Int32 = 0
        while true {
            let ended = waitpid(process, &status, WNOHANG)
            if ended == process { return status }
            guard ended == 0 || errno == EINTR else { throw failure("did not report its exit status", errno) }
            let isLate = ContinuousClock.now >= deadline
            if !isLate, (try? await Task.sleep(for: pause)) != nil {
                pause = min(pause * 2, .milliseconds(25))
                continue
            }
            kill(process, SIGKILL)
            await BlockingWork.run {
                var status: Int32 = 0
                while waitpid(process, &status, 0) == -1, errno == EINTR {}
            }
            throw Failure(text: isLate ? "took longer than \(timeout.text)" : "was stopped")
        }
    }

    private static func failure(_ text: String, _ errno: Int32) -> Failure {
        Failure(text: "\(text) (\(String(cString: strerror(errno))))")
    }
}
