import AccountKit
import AccountTesting
import Foundation
import Testing

/// A process that waits for its service, and others meanwhile.
@Suite struct RefreshLeaseTests {
    private static let leased = ".Account.plist.refresh.tmp"

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A process whose refresh has been sent.
    private func refreshing() throws -> Steps {
        let steps = try Steps(Exerciser.path, [folder.path, "refresh-slowly"])
        try #require(try steps.next() == "asked")
        return steps
    }

    private func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: folder.documents + "/" + name)
    }

    @Test func `While the service is waited for others change the account, and what was made ready for it stays`()
        throws
    {
        try Exerciser.run(folder, "sign-in")
        let steps = try refreshing()
        #expect(try folder.permissions(folder.documents + "/" + Self.leased) == 0o600)
        let size = try folder.bytes(folder.documents + "/" + Self.leased).count
        #expect(size >= 32 * 1024, "the room for the new tokens is there before they are asked for")
        for count in 1...3 { #expect(try Exerciser.run(folder, "update", "\(count)").output == "updated \(count)") }
        #expect(exists(Self.leased))
        #expect(
            try Exerciser.run(folder, "inspect").output
                == "in alice points=6 token=first note=0 intent=no revocations=0")
        steps.send("")
        #expect(try steps.next() == "refreshed, true")
        #expect(
            try Exerciser.run(folder, "inspect").output
                == "in alice points=6 token=second note=0 intent=no revocations=0")
        #expect(try folder.names() == ["Account.lock", "Account.plist", "Refresh.lock"])
    }

    @Test func `While the service is waited for a sign-out is one, and nothing comes back`() throws {
        try Exerciser.run(folder, "sign-in")
        let steps = try refreshing()
        #expect(try Exerciser.run(folder, "sign-out").output == "signed out")
        steps.send("")
        #expect(try steps.next().hasPrefix("notSignedIn"))
        // The service could not be told of the new tokens either.
        #expect(try Exerciser.run(folder, "inspect").output == "out intent=no revocations=1")
        #expect(!exists(Self.leased))
    }

    @Test func `A process that dies gives up its lease, and what it made ready is swept by the next writer`()
        async throws
    {
        try Exerciser.run(folder, "sign-in")
        let storage = FileArchiveStorage(container: try folder.container())
        do {
            let steps = try refreshing()
            await expectAccountError(.busy) { try await storage.acquireRefreshLease(timeout: .zero) }
            kill(steps.processID, SIGKILL)
            #expect(try steps.next().isEmpty, "it is dead")
        }
        // The kernel gives up the lock on the way out, which this waits for.
        let lease = try await storage.acquireRefreshLease(timeout: .seconds(10))
        #expect(exists(Self.leased))
        #expect(try Exerciser.run(folder, "update", "1").output == "updated 1")
        #expect(exists(Self.leased), "whoever has the lease may be about to use it")
        await lease.end()
        #expect(
            try Exerciser.run(folder, "inspect").output
                == "in alice points=1 token=first note=0 intent=yes revocations=0")
        #expect(try Exerciser.run(folder, "update", "1").output == "updated 1")
        #expect(!exists(Self.leased))
        #expect(try Exerciser.run(folder, "refresh").output == "refreshed, true")
    }

    @Test func `What a dead process made ready is in nobody's way at the next refresh`() throws {
        try Exerciser.run(folder, "sign-in")
        do {
            let steps = try refreshing()
            kill(steps.processID, SIGKILL)
            #expect(try steps.next().isEmpty, "it is dead")
        }
        #expect(try Exerciser.run(folder, "refresh").output == "refreshed, true")
        #expect(try folder.names() == ["Account.lock", "Account.plist", "Refresh.lock"])
    }

    @Test func `The lease and the lock are two, and each has one holder`() async throws {
        let container = try folder.container()
        let (first, second) = (FileArchiveStorage(container: container), FileArchiveStorage(container: container))
        let lease = try await first.acquireRefreshLease(timeout: .zero)
        await expectAccountError(.busy) { try await second.acquireRefreshLease(timeout: .zero) }
        let transaction = try await second.beginTransaction(timeout: .zero)
        await expectAccountError(.busy) { try await lease.beginTransaction(timeout: .zero) }
        await lease.end()
        let next = try await second.acquireRefreshLease(timeout: .zero)
        await expectAccountError(.busy) { try await first.beginTransaction(timeout: .zero) }
        await transaction.end()
        await (try await first.beginTransaction(timeout: .zero)).end()
        await next.end()
    }

    @Test func `A copy of the descriptor, as a child has until it is another program, holds neither of them`()
        async throws
    {
        let storage = FileArchiveStorage(container: try folder.container())
        let lease = try await storage.acquireRefreshLease(timeout: .zero)
        let transaction = try await storage.beginTransaction(timeout: .zero)
        let copies = try openLocks().map { dup($0) }
        defer { for copy in copies { close(copy) } }
        try #require(copies.count == 2 && !copies.contains(-1))
        await transaction.end()
        await lease.end()
        await (try await storage.acquireRefreshLease(timeout: .zero)).end()
        await (try await storage.beginTransaction(timeout: .zero)).end()
    }

    /// The descriptors of the folder's lock files that this process has open.
    private func openLocks() throws -> [Int32] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { name in
            // One that has been closed meanwhile was not a lock of this folder.
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
            return target?.hasPrefix(folder.documents + "/") == true ? Int32(name) : nil
        }
    }
}
