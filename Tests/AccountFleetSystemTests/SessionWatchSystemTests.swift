import AccountKit
import Foundation
import Testing

@testable import AccountFleet

/// Changes that reach a machine even though the watch does not report them.
struct SessionWatchSystemTests {
    private let interval = Duration.milliseconds(500)

    private func watch(_ storage: EtcdArchiveStorage) -> SessionWatch {
        SessionWatch(client: storage.client, folder: storage.key(""), interval: interval)
    }

    @Test func `Reports a change to a listener even if etcd's event is lost`() async throws {
        let cluster = try await EtcdCluster()
        try await cluster.waitUntilReady()
        let proxy = try await CuttingProxy(to: cluster.nodes[0].port)
        let here = try EtcdArchiveStorage(
            location: EtcdLocation("etcd://127.0.0.1:\(proxy.port)/dropped"), container: cluster.folder.container())
        let there = try cluster.storage("dropped", machine: TemporaryFolder())
        let watch = self.watch(here)
        var changes = watch.changes(of: here.key("Account.plist")).makeAsyncIterator()
        var removals = watch.changes(of: here.key("Account.plist"), isForRemoval: true).makeAsyncIterator()
        // Wait until the watch has begun.
        try await changes.next()
        try await removals.next()
        proxy.dropEvents()
        // If the interval ends at the moment of the removal, there is no event to drop.
        repeat {
            let revision = try await there.write([1])
            try await changes.next()
            let transaction = try await there.beginTransaction(timeout: .seconds(60))
            _ = try await transaction.remove(.account, ifRevision: revision)
            await transaction.end()
            try await changes.next()
            try await removals.next()
        } while proxy.droppedRemovalCount == 0
        // The compaction discards the changes in between.
        try await there.write([2])
        let last = try #require(try await there.write([3]).modRevision)
        try cluster.etcdctl("compaction", "\(last)")
        try await changes.next()
        #expect(try await here.read(.account)?.bytes == [3])
        await proxy.close()
    }

    @Test func `Reports a change to a listener while its etcd node is paused`() async throws {
        let cluster = try await EtcdCluster(nodeCount: 3)
        try await cluster.waitUntilReady()
        let (here, there) = (try cluster.storage("paused"), try cluster.storage("paused", machine: TemporaryFolder()))
        let watch = self.watch(here)
        var changes = watch.changes(of: here.key("Account.plist")).makeAsyncIterator()
        try await changes.next()
        try cluster.pause("node1")
        try await there.write([1])
        try await changes.next()
        #expect(try await here.read(.account)?.bytes == [1])
        try cluster.resume("node1")
        try await there.write([2])
        try await changes.next()
        #expect(try await here.read(.account)?.bytes == [2])
    }

    @Test func `Reads all watched etcd entries once in each interval`() async throws {
        let cluster = try await EtcdCluster()
        try await cluster.waitUntilReady()
        let storage = try cluster.storage("interval")
        func reads() throws -> Int {
            try cluster.metric(
                #"grpc_server_started_total{grpc_method="Range",grpc_service="etcdserverpb.KV",grpc_type="unary"}"#)
        }
        let watch = self.watch(storage)
        var changes = watch.changes(of: storage.key("Account.plist")).makeAsyncIterator()
        try await changes.next()
        let (start, before) = (ContinuousClock.now, try reads())
        while try reads() < before + 3 {}
        #expect(start.duration(to: .now) > interval, "the second and third readings are an interval apart")
        try await storage.write([1])
        try await changes.next()
    }
}
