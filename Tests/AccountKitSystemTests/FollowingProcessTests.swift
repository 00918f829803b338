import BoundedWaiting
import Foundation
import Testing

/// A process that observes the changes of other processes.
@Suite struct FollowingProcessTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Reads the output of a process line by line.
    private struct Lines {
        let handle: FileHandle
        private var rest = Data()

        init(_ pipe: Pipe) { handle = pipe.fileHandleForReading }

        /// Waits for the next line.
        mutating func next() throws -> String {
            while true {
                if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    defer { rest = Data(rest[(end + 1)...]) }
                    return String(decoding: rest[..<end], as: UTF8.self)
                }
                let more = try handle.nextBytes()
                try #require(!more.isEmpty, "it has ended, after \(String(decoding: rest, as: UTF8.self))")
                rest += more
            }
        }
    }

    /// Runs a process that observes changes. If `wrapper` contains a program, that program starts it.
    private func follow(by wrapper: [String] = [], _ test: (inout Lines) throws -> Void) throws {
        let words = wrapper + [Exerciser.path, folder.path, "follow", "signed in, 99"]
        let (process, pipe) = try Exerciser.start(words[0], Array(words.dropFirst()))
        // Kill the process if the test failed.
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        var lines = Lines(pipe)
        try test(&lines)
        // The process ends at this change. Signing in again as the same user would keep the points.
        try Exerciser.run(folder, "sign-out")
        try Exerciser.run(folder, "sign-in")
        try Exerciser.run(folder, "update", "99")
        while try lines.next() != "signed in, 99" {}
        try process.waitForEnd()
        #expect(process.terminationStatus == 0)
    }

    @Test func `Observes another process's change within a tenth of a second`() throws {
        try Exerciser.run(folder, "sign-in")
        try follow { lines in
            #expect(try lines.next() == "signed in, 0")
            // Repeat slow attempts, because the machine may be busy.
            var delays: [Duration] = []
            while delays.count < 10, delays.last ?? .seconds(1) >= .milliseconds(100) {
                try Exerciser.run(folder, "update", "1")
                let start = ContinuousClock.now
                #expect(try lines.next() == "signed in, \(delays.count + 1)")
                delays.append(start.duration(to: .now))
            }
            #expect(delays.min()! < .milliseconds(100), "\(delays)")
            try Exerciser.run(folder, "sign-out")
            #expect(try lines.next() == "signed out")
        }
    }

    @Test func `Polls for changes if inotify is unavailable`() throws {
        try Exerciser.run(folder, "sign-in")
        let trace = folder.path + "-trace"
        defer { try? FileManager.default.removeItem(atPath: trace) }
        let fault = [
            "/usr/bin/strace", "-f", "-qq", "-o", trace, "-e", "trace=inotify_init1", "-e",
            "inject=inotify_init1:error=EMFILE",
        ]
        try follow(by: fault) { lines in
            #expect(try lines.next() == "signed in, 0")
            for count in 1...3 {
                try Exerciser.run(folder, "update", "1")
                #expect(try lines.next() == "signed in, \(count)")
            }
        }
        #expect(try String(contentsOfFile: trace, encoding: .utf8).contains("EMFILE"))
    }

    @Test func `Continues to observe an archive whose folder was replaced`() throws {
        try Exerciser.run(folder, "sign-in")
        try Exerciser.run(folder, "update", "7")
        try follow { lines in
            #expect(try lines.next() == "signed in, 7")
            // A folder synchronization or a restored backup replaces a folder in this way.
            let documents = folder.path + "/Documents"
            let replaced = try Exerciser.shell(
                folder,
                "cp -a '\(documents)' '\(documents).new'; rm -r '\(documents)'; mv '\(documents).new' '\(documents)'")
            #expect(replaced.status == 0, "\(replaced.output)")
            // The process may or may not notice that the folder was briefly missing.
            try Exerciser.run(folder, "update", "1")
            while try lines.next() != "signed in, 8" {}
            try Exerciser.run(folder, "update", "1")
            #expect(try lines.next() == "signed in, 9")
        }
    }

    @Test func `Observes an archive that is moved out of its folder and back`() throws {
        try Exerciser.run(folder, "sign-in")
        try follow { lines in
            #expect(try lines.next() == "signed in, 0")
            try FileManager.default.moveItem(atPath: folder.archive, toPath: folder.path + "/elsewhere")
            #expect(try lines.next() == "signed out")
            try FileManager.default.moveItem(atPath: folder.path + "/elsewhere", toPath: folder.archive)
            #expect(try lines.next() == "signed in, 0")
        }
    }

    @Test func `Does not poll the archive while an observer waits`() throws {
        try Exerciser.run(folder, "sign-in")
        let trace = folder.path + "-trace"
        defer { try? FileManager.default.removeItem(atPath: trace) }
        func follow(seconds: Int) throws -> String {
            try Exerciser.run(
                "/usr/bin/strace",
                [
                    "-f", "-qq", "-o", trace, "/usr/bin/timeout", "--signal=KILL", "\(seconds)", Exerciser.path,
                    folder.path, "follow",
                ]
            ).output
        }
        var output = try follow(seconds: 2)
        // On a busy machine, the process may need more time to start.
        if output == "" { output = try follow(seconds: 30) }
        #expect(output == "signed in, 0")
        let calls = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
        let waiting = try #require(calls.lastIndex { $0.contains("inotify_add_watch(") })
        let looks = calls[waiting...].filter { $0.contains("Account.plist") }
        #expect(looks.count <= 3, "\(looks)")
    }
}
