#if os(Linux)
import AccountCrypto
import AccountKit
import Foundation
import Testing

/// Searches the memory and the core dumps of a process for tokens.
///
/// The tests run one after the other, because each reads hundreds of megabytes.
@Suite(.serialized) struct MemoryTests {
    private let folder: TemporaryFolder

    /// The stored tokens and the tokens that the service issues for them. No other memory contains them.
    private let access = token(), refresh = token(), newAccess = token(), newRefresh = token()

    init() throws { folder = try TemporaryFolder() }

    private static func token() -> String {
        String((0..<48).map { _ in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".randomElement()! })
    }

    private func signIn(issuer: String? = nil) async throws {
        let credentials = Credentials(
            accessToken: Secret(access), refreshToken: Secret(refresh), issuedAt: Date(),
            expiresAt: Date(timeIntervalSinceNow: 3600))
        try await AccountStore(container: try folder.container()).signIn {
            Account(id: "1", issuer: issuer, username: "alice", credentials: credentials)
        }
    }

    private static let exerciser = Exerciser.path.replacing("archive-exerciser", with: "memory-exerciser")

    /// The number of copies of each token in a core dump.
    private func copies(inDumpOf processID: Int32, options: [String], _ tokens: [String]) throws -> [Int] {
        let dump = folder.path + "/core"
        let file = "\(dump).\(processID)"
        defer { try? FileManager.default.removeItem(atPath: file) }
        let outcome = try Exerciser.run("/usr/bin/gcore", options + ["-o", dump, "\(processID)"])
        #expect(FileManager.default.fileExists(atPath: file), "\(outcome.output)")
        let data = try Data(contentsOf: URL(filePath: file), options: .alwaysMapped)
        return tokens.map { ProcessMemory.occurrences(of: $0, in: data) }
    }

    /// Whether this process may trace a process that is not its child, which systems often forbid to ordinary users.
    private static var mayTrace: Bool {
        geteuid() == 0 || (try? String(contentsOfFile: "/proc/sys/kernel/yama/ptrace_scope", encoding: .utf8)) == "0\n"
    }

    @Test func `Keeps each token once, in guarded memory, until the sign-out`()
        async throws
    {
        try await signIn()
        let canLock = Sodium.canLockMemory()
        let run = try Steps(Self.exerciser, [folder.path])
        for step in ["loaded true", "updated", "signed out true"] {
            #expect(try run.next() == step)
            for token in [access, refresh] {
                let copies = try ProcessMemory(processID: run.processID).copies(of: token)
                #expect(copies.elsewhere == [], "\(step)")
                #expect(copies.guarded == (step == "signed out true" ? 0 : 1), "\(step)")
                if canLock { #expect(copies.locked == copies.guarded, "\(step)") }
            }
            run.send("")
        }
    }

    @Test(.enabled(if: mayTrace)) func `Excludes tokens from core dumps, and from full dumps after a sign-out`()
        async throws
    {
        try await signIn()
        let run = try Steps(Self.exerciser, [folder.path])
        #expect(try run.next() == "loaded true")
        run.send("")
        #expect(try run.next() == "updated")
        #expect(try copies(inDumpOf: run.processID, options: [], [access, refresh]) == [0, 0])
        // Check that the search finds the tokens.
        #expect(try copies(inDumpOf: run.processID, options: ["-a"], [access, refresh]) == [1, 1])
        run.send("")
        #expect(try run.next() == "signed out true")
        #expect(try copies(inDumpOf: run.processID, options: ["-a"], [access, refresh]) == [0, 0])
    }

    @Test func `Works without locked memory and keeps tokens out of core dumps`() async throws {
        try await signIn()
        // Without this capability, the superuser cannot lock memory beyond the limit either.
        let drop = geteuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set=-ipc_lock"] : []
        let command = drop + ["/usr/bin/prlimit", "--memlock=0:0", Self.exerciser, folder.path]
        let run = try Steps(command[0], Array(command.dropFirst()))
        for step in ["loaded true", "updated", "signed out true"] {
            #expect(try run.next() == step)
            #expect(try ProcessMemory(processID: run.processID).lockedKilobytes == 0)
            for token in [access, refresh] {
                let copies = try ProcessMemory(processID: run.processID).copies(of: token)
                #expect(copies.elsewhere == [], "\(step)")
                #expect(copies.guarded == (step == "signed out true" ? 0 : 1), "\(step)")
            }
            run.send("")
        }
    }

    /// Starts a service that issues the new tokens, and returns its issuer.
    private func startService() throws -> (server: Steps, issuer: String) {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Support/token_server.py")
            .path
        let server = try Steps("/usr/bin/env", ["python3", script])
        server.send(newAccess)
        server.send(newRefresh)
        return (server, "http://127.0.0.1:\(try server.next())")
    }

    @Test func `Leaves no assertion of a workload in memory after requests`() async throws {
        let (server, issuer) = try startService()
        let (assertion, path) = (Self.token(), folder.path + "/assertion")
        try Data(assertion.utf8).write(to: URL(filePath: path))
        let run = try Steps(Self.exerciser, [folder.path, issuer, path])
        for step in ["signed in", "refreshed", "signed out"] {
            #expect(try run.next() == step)
            let memory = ProcessMemory(processID: run.processID)
            #expect(try memory.copies(of: assertion) == .init(), "\(step)")
            // Check that the search finds what the process has in memory.
            #expect(try memory.copies(of: newAccess).guarded == (step == "signed out" ? 0 : 1), "\(step)")
            run.send("")
        }
        withExtendedLifetime(server) {}
    }

    /// The network library does not clear its buffers when it frees them, so AccountKit first overwrites what it sent
    /// and received.
    @Test func `Leaves no token outside of guarded memory after requests`() async throws {
        let (server, issuer) = try startService()
        defer { withExtendedLifetime(server) {} }
        try await signIn(issuer: issuer)
        let run = try Steps(Self.exerciser, [folder.path, issuer])
        for step in ["loaded true", "updated", "refreshed", "checked", "signed out true"] {
            #expect(try run.next() == step)
            let memory = ProcessMemory(processID: run.processID)
            let copies = try [access, refresh, newAccess, newRefresh].map { try memory.copies(of: $0) }
            let isRefreshed = step == "refreshed" || step == "checked"
            let isSignedOut = step == "signed out true"
            let old = isRefreshed || isSignedOut ? 0 : 1
            #expect(copies.map(\.guarded) == [old, old, isRefreshed ? 1 : 0, isRefreshed ? 1 : 0], "\(step)")
            #expect(copies.allSatisfy { $0.elsewhere.isEmpty }, "\(step): \(copies)")
            run.send("")
        }
    }
}
#endif
