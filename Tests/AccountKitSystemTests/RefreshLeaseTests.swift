import AccountKit
import AccountTesting
import Foundation
import Testing

/// A process that waits for its service, and other processes at the same time.
@Suite struct RefreshLeaseTests {
    private static let leased = ".Account.plist.refresh.tmp"

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A process that has sent its refresh.
    private func refreshing() throws -> Steps {
        let steps = try Steps(Exerciser.path, [folder.path, "refresh-slowly"])
        try #require(try steps.next() == "asked")
        return steps
    }

    private func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: folder.documents + "/" + name)
    }

    @Test func `Allows other processes to change the account while a refresh waits`()
        throws
    {
        try Exerciser.run(folder, "sign-in")
        let steps = try refreshing()
        #expect(try folder.permissions(folder.documents + "/" + Self.leased) == 0o600)
        let size = try folder.bytes(folder.documents + "/" + Self.leased).count
        #expect(size >= 32 * 1024, "space for the new tokens is reserved before the request")
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

    @Test func `Releases the lease of a dead process and removes its reserved file`()
        async throws
    {
        try Exerciser.run(folder, "sign-in")
        let storage = FileArchiveStorage(container: try folder.container())
        do {
            let steps = try refreshing()
            await expectAccountError(.busy) { try await storage.acquireRefreshLease(timeout: .zero) }
            kill(steps.processID, SIGKILL)
            #expect(try steps.next().isEmpty, "the process is dead")
        }
        // Wait until the kernel has released the lock of the dead process.
        let lease = try await storage.acquireRefreshLease(timeout: .seconds(60))
        #expect(exists(Self.leased))
        #expect(try Exerciser.run(folder, "update", "1").output == "updated 1")
        #expect(exists(Self.leased), "the lease holder may be about to use it")
        await lease.end()
        #expect(
            try Exerciser.run(folder, "inspect").output
                == "in alice points=1 token=first note=0 intent=yes revocations=0")
        #expect(try Exerciser.run(folder, "update", "1").output == "updated 1")
        #expect(!exists(Self.leased))
        #expect(try Exerciser.run(folder, "refresh").output == "refreshed, true")
    }

    @Test func `Replaces the reserved file of a dead process at the next refresh`() throws {
        try Exerciser.run(folder, "sign-in")
        do {
            let steps = try refreshing()
            kill(steps.processID, SIGKILL)
            #expect(try steps.next().isEmpty, "the process is dead")
        }
        #expect(try Exerciser.run(folder, "refresh").output == "refreshed, true")
        #expect(try folder.names() == ["Account.lock", "Account.plist", "Refresh.lock"])
    }

    @Test func `Allows one holder of the lease and one independent holder of the lock`() async throws {
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

    @Test func `Releases the lock although a forked child keeps the descriptor`()
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

    /// The open descriptors of lock files in the folder.
    private func openLocks() throws -> [Int32] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { name in
            // A descriptor that has been closed since was not a lock of this folder.
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
            return target?.hasPrefix(folder.documents + "/") == true ? Int32(name) : nil
        }
    }
}
