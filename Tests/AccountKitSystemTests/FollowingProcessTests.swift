import BoundedWaiting
import Foundation
import Testing

/// A process that follows what others do to the session.
@Suite struct FollowingProcessTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Reads what a process prints, line by line.
    private struct Lines {
        let handle: FileHandle
        private var rest = Data()

        init(_ pipe: Pipe) { handle = pipe.fileHandleForReading }

        /// The next line, as soon as it is there.
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

    /// Runs a process that follows, started by way of another program if `wrapper` names one.
    private func follow(by wrapper: [String] = [], _ test: (inout Lines) throws -> Void) throws {
        let words = wrapper + [Exerciser.path, folder.path, "follow", "signed in, 99"]
        let (process, pipe) = try Exerciser.start(words[0], Array(words.dropFirst()))
        // One with which a test has failed.
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        var lines = Lines(pipe)
        try test(&lines)
        // It ends when it hears of this.
        try Exerciser.run(folder, "sign-in")
        try Exerciser.run(folder, "update", "99")
        while try lines.next() != "signed in, 99" {}
        try process.waitForEnd()
        #expect(process.terminationStatus == 0)
    }

    @Test func `What another process does is known within a tenth of a second`() throws {
        try Exerciser.run(folder, "sign-in")
        try follow { lines in
            #expect(try lines.next() == "signed in, 0")
            // The quickest of some, since what is measured is not how busy the machine is.
            var delays: [Duration] = []
            for count in 1...5 {
                try Exerciser.run(folder, "update", "1")
                let start = ContinuousClock.now
                #expect(try lines.next() == "signed in, \(count)")
                delays.append(start.duration(to: .now))
            }
            #expect(delays.min()! < .milliseconds(100))
            try Exerciser.run(folder, "sign-out")
            #expect(try lines.next() == "signed out")
        }
    }

    @Test func `Where the kernel does not tell of changes they are looked for`() throws {
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

    @Test func `A folder that is put in the place of the one that was watched is followed too`() throws {
        try Exerciser.run(folder, "sign-in")
        try Exerciser.run(folder, "update", "7")
        try follow { lines in
            #expect(try lines.next() == "signed in, 7")
            // As a synchronized folder, or a restored backup, is put in place.
            let documents = folder.path + "/Documents"
            let replaced = try Exerciser.shell(
                folder,
                "cp -a '\(documents)' '\(documents).new'; rm -r '\(documents)'; mv '\(documents).new' '\(documents)'")
            #expect(replaced.status == 0, "\(replaced.output)")
            // Whether it saw that there was no folder for a moment is a matter of chance.
            try Exerciser.run(folder, "update", "1")
            while try lines.next() != "signed in, 8" {}
            try Exerciser.run(folder, "update", "1")
            #expect(try lines.next() == "signed in, 9")
        }
    }

    @Test func `Follows an archive that is moved out of its folder`() throws {
        try Exerciser.run(folder, "sign-in")
        try follow { lines in
            #expect(try lines.next() == "signed in, 0")
            try FileManager.default.moveItem(atPath: folder.archive, toPath: folder.path + "/elsewhere")
            #expect(try lines.next() == "signed out")
            try FileManager.default.moveItem(atPath: folder.path + "/elsewhere", toPath: folder.archive)
            #expect(try lines.next() == "signed in, 0")
        }
    }

    @Test func `Nobody who waits looks at the file again and again`() throws {
        try Exerciser.run(folder, "sign-in")
        let trace = folder.path + "-trace"
        defer { try? FileManager.default.removeItem(atPath: trace) }
        let outcome = try Exerciser.run(
            "/usr/bin/strace",
            [
                "-f", "-qq", "-o", trace, "/usr/bin/timeout", "--signal=KILL", "2", Exerciser.path, folder.path,
                "follow",
            ])
        #expect(outcome.output == "signed in, 0")
        let calls = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
        let waiting = try #require(calls.lastIndex { $0.contains("inotify_add_watch(") })
        let looks = calls[waiting...].filter { $0.contains("Account.plist") }
        #expect(looks.count <= 3, "\(looks)")
    }
}
