import AccountTesting
import BoundedWaiting
import Foundation
import AccountCrypto
import Testing

@testable import AccountKit

struct CommandKeyTests {
    private static let text = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    private func content(of key: ArchiveKey?) -> [UInt8]? {
        guard case .key(let bytes)? = key?.opener else { return nil }
        return bytes.withUnsafeBytes { Array($0) }
    }

    @Test(arguments: [["printf", "%s", text], ["/usr/bin/echo", text], ["sh", "-c", "sleep 0.05; echo \(text)"]])
    func `Reads the key that a key program prints`(command: [String]) async throws {
        #expect(content(of: try await CommandKey(command).key()) == [UInt8](0..<32))
        #expect(content(of: try await CommandKey(command).makeKey()) == [UInt8](0..<32))
    }

    @Test func `Does not wait for a background process of the key program`() async throws {
        let command = ["sh", "-c", "sleep 5 </dev/null 2>/dev/null & echo \(Self.text)"]
        #expect(content(of: try await CommandKey(command).key()) == [UInt8](0..<32))
    }

    @Test func `Runs the key program with only its three standard files open`() async throws {
        let open = dup(0)
        defer { close(open) }
        try #require(open > 2 && fcntl(open, F_GETFD) & FD_CLOEXEC == 0)
        let command = ["sh", "-c", "[ -e /proc/self/fd/\(open) ] || echo \(Self.text)"]
        #expect(content(of: try await CommandKey(command).key()) == [UInt8](0..<32))
    }

    @Test func `Runs the key program without a shell and with empty input`() async throws {
        let folder = try TemporaryFolder()
        let words = "$(touch \(folder.path)/made); `id` * \\ \""
        let error = await #expect(throws: AccountError.self) { try await CommandKey(["printf", "%s", words]).key() }
        #expect(error?.code == .noKey)
        #expect(try folder.names(in: folder.path) == [])
        #expect(content(of: try await CommandKey(["sh", "-c", "cat; echo \(Self.text)"]).key()) != nil)
    }

    @Test(arguments: [
        (["false"], "ended with 1"), (["sh", "-c", "echo \(text); exit 3"], "ended with 3"),
        (["sh", "-c", "kill -9 $$"], "killed by signal 9"), (["/nonexistent/program"], "could not be started"),
        (["true"], "something other"), (["echo", "password"], "something other"),
        (["head", "-c", "1025", "/dev/zero"], "more than 1024 bytes"),
        (["sh", "-c", "echo \(text); echo \(text)"], "something other"),
    ])
    func `Reports a key program that fails or does not print a key`(
        command: [String], text: String
    ) async throws {
        let error = await #expect(throws: AccountError.self) { try await CommandKey(command).key() }
        #expect(error?.code == .noKey)
        #expect(error?.description.contains(text) == true, "\(String(describing: error))")
        #expect(error?.description.contains("AAECAwQF") == command.joined().contains("AAECAwQF"), "only what was typed")
    }

    @Test(arguments: [["sleep", "1000"], ["yes"], ["sh", "-c", "trap '' TERM; exec sleep 1000"]])
    func `Kills a key program that exceeds its timeout`(command: [String]) async throws {
        let source = CommandKey(command, timeout: .milliseconds(50))
        let error = await #expect(throws: AccountError.self) { try await source.key() }
        #expect(error?.description.contains("took longer than") == true)
    }

    @Test func `Kills the key program if the wait is cancelled`() async throws {
        let folder = try TemporaryFolder()
        let pipe = folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let waiting = Task {
            try await CommandKey(["sh", "-c", "echo $$ > \(pipe); exec sleep 1000"]).key()
        }
        // The program opens the pipe as soon as it runs.
        // Open the pipe without blocking: open(2) would never return if the program did not start.
        let reading = FileHandle(fileDescriptor: open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC), closeOnDealloc: true)
        let line = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Result { try reading.nextBytes() }) }
        }
        let process = try #require(
            Int32(String(decoding: try line.get(), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)))
        waiting.cancel()
        await #expect(throws: AccountError.self) { try await waiting.value }
        #expect(kill(process, 0) == -1 && errno == ESRCH)
    }

    @Test func `Removes the hidden variables from the key program's environment`() async throws {
        let names = ProcessInfo.processInfo.environment.keys.sorted().filter { name in
            name != "PATH" && name.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "_") }
        }
        let (hidden, kept) = (try #require(names.first), try #require(names.last))
        try #require(hidden != kept)
        let script =
            "test -z \"${\(hidden)+set}\" && test -n \"${\(kept)+set}\" && test -n \"$PATH\" && echo \(Self.text)"
        let command = ["/bin/sh", "-c", script]
        #expect(content(of: try await CommandKey(command, hiding: [hidden]).key()) != nil)
        await expectAccountError(.noKey) { try await CommandKey(command).key() }
        // Neither a prefix of the name nor a longer name matches.
        for name in [String(hidden.dropLast()), hidden + "X"] {
            await expectAccountError(.noKey) { try await CommandKey(command, hiding: [name]).key() }
        }
    }
}
