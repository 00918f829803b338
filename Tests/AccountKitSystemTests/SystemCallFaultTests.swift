#if os(Linux)
import AccountKit
import Foundation
import Testing

/// Makes each system call of a save fail with strace, or kills the process at the call.
@Suite struct SystemCallFaultTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// An argument of strace's `inject`, and whether the new account is already in place.
    struct Fault: CustomTestStringConvertible {
        let call: String
        let number: Int
        let isInPlace: Bool

        init(_ call: String, _ number: Int = 1, isInPlace: Bool = false) {
            self.call = call
            self.number = number
            self.isInPlace = isInPlace
        }

        var testDescription: String { "\(call) \(number)" }
    }

    /// The calls of a save, in order. The second fsync is for the folder.
    static let save: [Fault] = [
        Fault("fchmod"), Fault("fsync"), Fault("rename"), Fault("fsync", 2, isInPlace: true),
    ]

    @Test(arguments: save.dropLast(), ["EIO", "ENOSPC", "EACCES", "EDQUOT"])
    func `Leaves the old account intact and no other files after a failed call`(fault: Fault, error: String) throws {
        try Exerciser.run(folder, "sign-in")
        let before = try folder.bytes()
        let outcome = try Exerciser.run(
            folder, "update", "1", injecting: "\(fault.call):error=\(error):when=\(fault.number)")
        #expect(outcome.status == 1)
        #expect(outcome.output.hasPrefix("inaccessible:") && outcome.output.contains("(\(error))"), "\(outcome.output)")
        #expect(outcome.output.contains(fault.call), "\(outcome.output)")
        #expect(try folder.bytes() == before)
        #expect(try folder.names() == ["Account.lock", "Account.plist"])
        #expect(try Exerciser.run(folder, "update", "1").output == "updated 1")
    }

    @Test func `Saves to a folder that cannot be synced`() throws {
        try Exerciser.run(folder, "sign-in")
        let outcome = try Exerciser.run(folder, "update", "1", injecting: "fsync:error=EIO:when=2")
        #expect(outcome.output == "updated 1")
        #expect(try Exerciser.run(folder, "read").output == "signed in, 1")
    }

    @Test(arguments: ["EIO", "ENOSPC", "EPERM"])
    func `Saves new tokens even if the reserved file cannot be truncated`(error: String) throws {
        try Exerciser.run(folder, "sign-in")
        let outcome = try Exerciser.run(folder, "refresh", injecting: "ftruncate:error=\(error)")
        #expect(outcome.output == "refreshed, true")
        #expect(try folder.names() == ["Account.lock", "Account.plist", "Refresh.lock"])
        let dying = try Exerciser.run(folder, "refresh", injecting: "ftruncate:signal=KILL")
        #expect(dying.status != 0, "the process did not die: \(dying)")
        #expect(try Exerciser.run(folder, "read").output == "signed in, 0")
    }

    @Test func `Refreshes on a file system that cannot reserve space`() throws {
        try Exerciser.run(folder, "sign-in")
        for error in ["EOPNOTSUPP", "ENOSYS"] {
            let outcome = try Exerciser.run(folder, "refresh", injecting: "fallocate:error=\(error)")
            #expect(outcome.output == "refreshed, true")
        }
        let full = try Exerciser.run(folder, "refresh", injecting: "fallocate:error=ENOSPC")
        #expect(full.output.hasPrefix("inaccessible:"), "\(full.output)")
        #expect(try folder.names() == ["Account.lock", "Account.plist", "Refresh.lock"])
    }

    @Test(arguments: save)
    func `Leaves one account, no lock and no legible data after a killed save`(
        fault: Fault
    ) throws {
        try Exerciser.run(folder, "sign-in")
        let outcome = try Exerciser.run(
            folder, "update", "1", injecting: "\(fault.call):signal=KILL:when=\(fault.number)")
        #expect(outcome.status != 0 && outcome.output.isEmpty, "the process did not die: \(outcome)")
        #expect(try folder.names().count == (fault.isInPlace ? 2 : 3), "the process died too late")
        for file in try folder.files() {
            let bytes = try folder.bytes(file)
            for word in ["canary-access", "canary-refresh", "alice"] {
                #expect(bytes.range(of: Data(word.utf8)) == nil, "\(word) in \(file)")
            }
        }
        #expect(try Exerciser.run(folder, "read").output == "signed in, \(fault.isInPlace ? 1 : 0)")
        #expect(try Exerciser.run(folder, "update", "1").output == "updated 1")
        #expect(try folder.names() == ["Account.lock", "Account.plist"])
    }

    @Test(arguments: ["fchmod:signal=KILL:when=1", "fsync:signal=KILL:when=1", "rename:signal=KILL:when=1"])
    func `Leaves the account or no account after a killed sign-out`(fault: String) throws {
        try Exerciser.run(folder, "sign-in")
        let outcome = try Exerciser.run(folder, "sign-out", injecting: fault)
        #expect(outcome.status != 0 && outcome.output.isEmpty, "the process did not die: \(outcome)")
        #expect(try Exerciser.run(folder, "read").output == "signed in, 0")
        let dying = try Exerciser.run(folder, "sign-out", injecting: "unlink:signal=KILL:when=1")
        #expect(dying.status != 0, "the process did not die: \(dying)")
        #expect(try Exerciser.run(folder, "read").output == "signed in, 0")
        #expect(try Exerciser.run(folder, "sign-out").output == "signed out")
        #expect(try Exerciser.run(folder, "read").output == "signed out")
    }

    @Test(arguments: ["EACCES", "EPERM", "EIO"])
    func `Fails a sign-out that cannot remove a damaged archive`(
        error: String
    ) throws {
        try Exerciser.run(folder, "sign-in")
        let damaged = Data([1, 2, 3])
        try damaged.write(to: URL(filePath: folder.archive))
        // The fault hits the first call of each thread, so the second link to the archive may remain too.
        let outcome = try Exerciser.run(folder, "sign-out", injecting: "unlink:error=\(error):when=1")
        #expect(outcome.status == 1)
        #expect(outcome.output.hasPrefix("inaccessible:") && outcome.output.contains("(\(error))"), "\(outcome.output)")
        #expect(try folder.bytes() == damaged)
        #expect(try Exerciser.run(folder, "read").output == "unreadable damaged")

        #expect(try Exerciser.run(folder, "sign-out").output == "signed out")
        #expect(try Exerciser.run(folder, "read").output == "signed out")
        let moved = try folder.names().filter { $0.hasPrefix("Account.plist") }
        #expect(!moved.isEmpty && moved.allSatisfy { $0.hasPrefix("Account.plist.unreadable-") }, "\(moved)")
        for name in moved { #expect(try folder.bytes(folder.documents + "/" + name) == damaged) }
    }

    // MARK: The order of the calls

    /// The calls of a run that concern the folder, in order.
    private func trace(of arguments: String...) throws -> [Substring] {
        let trace = folder.path + "-trace"
        defer { try? FileManager.default.removeItem(atPath: trace) }
        let names =
            "openat,fchmod,fallocate,write,pwrite64,ftruncate,fsync,fdatasync,rename,renameat,link,linkat,unlink"
        let outcome = try Exerciser.run(
            "/usr/bin/strace",
            ["-f", "-qq", "-y", "-e", "trace=\(names),fcntl,close", "-o", trace, Exerciser.path, folder.path]
                + arguments)
        #expect(outcome.status == 0, "\(outcome.output)")
        return try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n").filter {
            $0.contains(folder.path)
        }
    }

    /// Expects these calls in this order.
    private func expect(_ order: [[String]], in calls: [Substring], _ what: Comment) throws {
        var rest = calls[...]
        for parts in order {
            let index = rest.firstIndex { call in parts.allSatisfy { call.contains($0) } }
            rest = rest[try #require(index, "\(what): no \(parts) after \(calls.count - rest.count) calls")...]
                .dropFirst()
        }
    }

    @Test func `Syncs a new key file before linking it, and replaces no existing key`() throws {
        let calls = try trace(of: "sign-in")
        try expect(
            [
                ["openat(", "Account.key.", "O_EXCL", "O_NOFOLLOW", "O_CLOEXEC"], ["fchmod(", "Account.key.", "0600"],
                ["write(", "Account.key."], ["fsync(", "Account.key."], ["link(", "Account.key.", "/Account.key\""],
                ["fsync(", "/Library/Keys>"], ["unlink(", "Account.key."],
            ], in: calls, "key")
        #expect(!calls.contains { $0.contains("rename(") && $0.contains("Account.key") })
    }

    @Test func `Makes the system calls of a save in the right order under the lock`() throws {
        try Exerciser.run(folder, "sign-in")
        let calls = try trace(of: "update", "1")
        try expect(
            [
                ["openat(", "Account.lock", "O_NOFOLLOW", "O_CLOEXEC"], ["fcntl(", "Account.lock>", "SETLK"],
                ["openat(", "/Account.plist\"", "O_RDONLY", "O_NOFOLLOW"],
                ["openat(", "/.Account.plist.", "O_EXCL", "O_NOFOLLOW", "O_CLOEXEC"],
                ["fchmod(", "/.Account.plist.", "0600"], ["write(", "/.Account.plist."],
                ["fsync(", "/.Account.plist."],
                ["rename(", "/.Account.plist.", "/Account.plist\""], ["fsync(", "/Documents>"],
                ["close(", "Account.lock>"],
            ], in: calls, "save")
        #expect(!calls.contains { $0.contains("unlink(") && $0.contains("Account.lock") })
    }

    @Test func `Reserves space and records the intent before a refresh request`() throws {
        try Exerciser.run(folder, "sign-in")
        let calls = try trace(of: "refresh", folder.path + "/none/ballast")
        try expect(
            [
                ["fcntl(", "Account.lock>", "SETLK"], ["fallocate(", "/.Account.plist."],
                ["rename(", "/Refresh.plist\""], ["fsync(", "/Documents>"], ["openat(", "/none/"],
                ["write(", "/.Account.plist."], ["fsync(", "/.Account.plist."], ["rename(", "/Account.plist\""],
                ["fsync(", "/Documents>"], ["unlink(", "/Refresh.plist"], ["close(", "Account.lock>"],
            ], in: calls, "refresh")
        #expect(calls.count { $0.contains("openat(") && $0.contains("/.Account.plist.") && $0.contains("O_EXCL") } == 1)
        #expect(
            calls.count { $0.contains("openat(") && $0.contains("O_NONBLOCK|O_CLOEXEC|O_DIRECTORY") } == 1,
            "one listing")
    }

    @Test func `Records a sign-out and syncs the record`() throws {
        try Exerciser.run(folder, "sign-in")
        try expect(
            [
                ["fcntl(", "Account.lock>", "SETLK"], ["fsync(", "/.SignOut.plist."], ["rename(", "/SignOut.plist\""],
                ["fsync(", "/Documents>"], ["unlink(", "/Account.plist\""], ["fsync(", "/Documents>"],
            ], in: trace(of: "sign-out"), "sign-out")
    }

    @Test func `Opens no file for writing when reading`() throws {
        try Exerciser.run(folder, "sign-in")
        let calls = try trace(of: "read").filter { $0.contains("openat(") }
        #expect(calls.contains { $0.contains("/Account.plist\"") })
        #expect(calls.allSatisfy { $0.contains("O_RDONLY") && !$0.contains("O_CREAT") }, "\(calls)")
    }

    @Test func `Makes the same number of calls at a sign-in with ten thousand sessions`() throws {
        func callCount(of session: String) throws -> Int {
            let trace = folder.path + "/../trace-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: trace) }
            let outcome = try Exerciser.run(
                "/usr/bin/strace",
                [
                    "-f", "-qq", "-y", "-e", "trace=file,desc", "-o", trace, Exerciser.path, folder.path, "sign-in",
                    session,
                ])
            #expect(outcome.output == "signed in")
            let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
            // Exclude the runtime's reads of /proc and /sys and its libraries, which differ from run to run. A call
            // that another thread interrupts has two lines.
            return lines.count { $0.contains(folder.path) && !$0.contains("resumed>") }
        }
        try Exerciser.run(folder, "sign-in", "first")
        let one = try callCount(of: "second")
        let outcome = try Exerciser.shell(
            folder,
            #"cd "$ROOT/Documents/Sessions"; i=0; while [ $i -lt 10000 ]; do mkdir "s$i"; i=$((i+1)); done; for d in s*; do printf x > "$d/Account.plist"; done"#
        )
        #expect(outcome.status == 0)
        #expect(try callCount(of: "third") == one)
        #expect(one > 10)
    }
}
#endif
