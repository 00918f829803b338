#if os(Linux)
import AccountKit
import Foundation
import Testing

/// What of a token can be found in the memory of a process, and in a core dump of it.
///
/// One after the other: each reads hundreds of megabytes.
@Suite(.serialized) struct MemoryTests {
    private let folder: TemporaryFolder

    /// Those that are stored, and those that the service gives out for them. They stand nowhere else.
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

    /// How often each token is in a core dump.
    private func copies(inDumpOf processID: Int32, options: [String], _ tokens: [String]) throws -> [Int] {
        let dump = folder.path + "/core"
        let file = "\(dump).\(processID)"
        defer { try? FileManager.default.removeItem(atPath: file) }
        let outcome = try Exerciser.run("/usr/bin/gcore", options + ["-o", dump, "\(processID)"])
        #expect(FileManager.default.fileExists(atPath: file), "\(outcome.output)")
        let data = try Data(contentsOf: URL(filePath: file), options: .alwaysMapped)
        return tokens.map { ProcessMemory.occurrences(of: $0, in: data) }
    }

    /// A debugger may look at another process than its own child, which systems forbid to ordinary users.
    private static var mayTrace: Bool {
        geteuid() == 0 || (try? String(contentsOfFile: "/proc/sys/kernel/yama/ptrace_scope", encoding: .utf8)) == "0\n"
    }

    @Test func `A process that is signed in holds each token once, guarded, and one that signed out does not hold it`()
        async throws
    {
        try await signIn()
        let run = try Steps(Self.exerciser, [folder.path])
        for step in ["loaded true", "updated", "signed out true"] {
            #expect(try run.next() == step)
            for token in [access, refresh] {
                let copies = try ProcessMemory(processID: run.processID).copies(of: token)
                #expect(copies.elsewhere == [], "\(step)")
                #expect(copies.guarded == (step == "signed out true" ? 0 : 1), "\(step)")
            }
            run.send("")
        }
    }

    @Test(.enabled(if: mayTrace)) func `A core dump holds no token, and one of all memory none after the sign-out`()
        async throws
    {
        try await signIn()
        let run = try Steps(Self.exerciser, [folder.path])
        #expect(try run.next() == "loaded true")
        run.send("")
        #expect(try run.next() == "updated")
        #expect(try copies(inDumpOf: run.processID, options: [], [access, refresh]) == [0, 0])
        // So that it is known that the search finds them.
        #expect(try copies(inDumpOf: run.processID, options: ["-a"], [access, refresh]) == [1, 1])
        run.send("")
        #expect(try run.next() == "signed out true")
        #expect(try copies(inDumpOf: run.processID, options: ["-a"], [access, refresh]) == [0, 0])
    }

    @Test func `Where memory may not be locked, everything goes on, and tokens stay out of dumps`() async throws {
        try await signIn()
        // The superuser may lock as much as there is.
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

    /// The network library frees its buffers as they are, so what was sent and received is zeroed in them first.
    @Test func `A refresh, a check and a revocation leave no token outside of guarded memory`() async throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Support/token_server.py")
            .path
        let server = try Steps("/usr/bin/env", ["python3", script])
        server.send(newAccess)
        server.send(newRefresh)
        let issuer = "http://127.0.0.1:\(try server.next())"
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
