import AccountKit
import AccountTesting
import Foundation
import Testing

@testable import AccountFleet

/// Reads from the replica after the only node was removed.
@Suite struct EtcdReplicaTests {
    @Test func `Reads the account from the replica while no etcd node responds`() async throws {
        let cluster = try await EtcdCluster()
        try await cluster.waitUntilReady()
        let (writer, reader, stranger) = (try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder())
        let revision = try await cluster.storage("replica", machine: writer).write([1, 2, 3])
        let current = try await cluster.storage("replica", machine: reader).read(.account)
        #expect(current == StoredEntry(bytes: [1, 2, 3], revision: revision), "a current entry has no earlier date")

        cluster.kill("node1")
        for machine in [writer, reader] {
            let storage = try cluster.storage("replica", machine: machine)
            let before = Date()
            let replica = try #require(try await storage.read(.account))
            #expect(replica.bytes == [1, 2, 3] && replica.revision == revision)
            #expect(try #require(replica.asOf) <= before)
            for _ in 0..<2 {
                await expectAccountError(.storeUnreachable, "a replica cannot be written") {
                    _ = try await storage.beginTransaction(timeout: .zero)
                }
                await expectAccountError(.storeUnreachable, "a refresh cannot begin") {
                    _ = try await storage.acquireRefreshLease(timeout: .zero)
                }
            }
            await expectAccountError(.storeUnreachable, "other entries have no replica") {
                _ = try await storage.read(.signOut)
            }
        }
        await expectAccountError(.storeUnreachable, "a machine that never read the account has no replica") {
            _ = try await cluster.storage("replica", machine: stranger).read(.account)
        }
        await expectAccountError(.storeUnreachable, "the replica of another prefix is not used") {
            _ = try await cluster.storage("other", machine: reader).read(.account)
        }

        try cluster.start("node1")
        try await cluster.waitUntilReady()
        let storage = try cluster.storage("replica", machine: reader)
        let transaction = try await storage.beginTransaction(timeout: .seconds(60))
        _ = try await transaction.remove(.account, ifRevision: revision)
        await transaction.end()
        // The other machine finds the sign-out at its next read.
        #expect(try await cluster.storage("replica", machine: writer).read(.account) == nil)

        cluster.kill("node1")
        for machine in [writer, reader] {
            await expectAccountError(.storeUnreachable, "a known sign-out removes the replica") {
                _ = try await cluster.storage("replica", machine: machine).read(.account)
            }
        }
    }
}
