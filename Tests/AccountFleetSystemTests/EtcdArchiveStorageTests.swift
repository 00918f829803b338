import AccountTesting
import Foundation
import TestScene
import Testing

@testable import AccountFleet
@testable import AccountKit

/// Tests that share one etcd node. Each test has its own prefix.
@Suite(.sharedCluster) struct EtcdArchiveStorageTests {
    private func cluster() throws -> EtcdCluster { try #require(SharedCluster.current) }

    @Test func `Meets all storage requirements with a single etcd node`() async throws {
        let cluster = try cluster()
        try await ArchiveStorageConformance { try cluster.storage("conformance") }.run()
    }

    @Test func `Lists only the sessions that have entries in etcd`() async throws {
        let cluster = try cluster()
        let container = try cluster.folder.container()
        func sessions(_ prefix: String = "sessions", of container: AppContainer) async throws -> [String] {
            try await container.sessions(at: cluster.location(prefix)).map(\.rawValue)
        }
        #expect(try await sessions(of: container) == [])
        for name in ["work", "default", "home"] {
            try await EtcdArchiveStorage(
                location: cluster.location("sessions"), container: container, session: SessionName(name)
            ).write([1])
        }
        let held = try await EtcdArchiveStorage(
            location: cluster.location("sessions"), container: container, session: SessionName("locked")
        ).beginTransaction(timeout: .seconds(60))
        #expect(try await sessions(of: container) == ["default", "home", "work"])
        await held.end()
        #expect(try await sessions(of: cluster.folder.container("exerciser2")) == [])
        #expect(try await sessions("session", of: container) == [])
    }

    @Test func `Names the lock holder if a wait for the etcd lock times out`() async throws {
        let storage = try cluster().storage("holder")
        let held = try await storage.beginTransaction(timeout: .seconds(60))
        await #expect {
            _ = try await storage.beginTransaction(timeout: .zero)
        } throws: { error in
            (error as? AccountError)?.code == .busy
                && "\(error)".contains("process \(ProcessInfo.processInfo.processIdentifier) on ")
        }
        await held.end()
    }

    @Test func `Leaves no etcd lease after a cancelled wait`() async throws {
        let cluster = try cluster()
        let storage = try cluster.storage("cancelled")
        let held = try await storage.acquireRefreshLease(timeout: .seconds(60))
        let waiting = Task { try await storage.acquireRefreshLease(timeout: .seconds(120)) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        await held.end()
        let next = try await storage.acquireRefreshLease(timeout: .seconds(60))
        await next.end()
    }

    @Test func `Reveals nothing about the user in etcd's files`() async throws {
        let cluster = try await EtcdCluster()
        try await cluster.waitUntilReady()
        let container = try cluster.folder.container()
        let store = AccountStore(
            storage: try cluster.storage("legible"), appIdentifier: container.identifier,
            keys: [KeyFile(container: container)])
        try await store.signIn { .fresh(at: Date()) }
        let authority = ScriptedAuthority()
        try await store.refresh(with: authority)
        let snapshot = cluster.folder.path + "/snapshot"
        try cluster.etcdctl("snapshot", "save", snapshot)
        let names = try #require(FileManager.default.subpaths(atPath: cluster.folder.path + "/node1"))
        let files = names.map { "\(cluster.folder.path)/node1/\($0)" } + [snapshot]
        let contents = files.compactMap { FileManager.default.contents(atPath: $0) }
        let account = try #require(store.account)
        for word in [
            "access-1", "access-2", "refresh-1", "refresh-2", account.id, account.displayName,
            account.credentials.accessToken.reveal(),
        ] {
            #expect(!contents.contains { $0.range(of: Data(word.utf8)) != nil }, "\(word) is in none of etcd's files")
        }
        for word in ["legible/exerciser/default/Account.plist", "legible/exerciser/default/Refresh.plist"] {
            #expect(contents.contains { $0.range(of: Data(word.utf8)) != nil }, "these are etcd's files: \(word)")
        }
    }

    // MARK: The fence

    @Test func `Refuses changes of a holder that lost the etcd lock`() async throws {
        let cluster = try cluster()
        let storage = try cluster.storage("fence")
        let first = try await storage.write([1])
        let late = try await storage.beginTransaction(timeout: .seconds(60))
        try cluster.revokeLease(of: "fence/exerciser/default/.lock")
        for isTaken in [false, true] {
            let other = isTaken ? try await storage.beginTransaction(timeout: .seconds(60)) : nil
            await expectAccountError(.conflict, "a write by a former lock holder") {
                _ = try await late.replace(.account, with: [2], ifRevision: first)
            }
            await expectAccountError(.conflict, "a removal by a former lock holder") {
                _ = try await late.remove(.account, ifRevision: first)
            }
            await expectAccountError(.conflict, "a quarantine by a former lock holder") {
                _ = try await late.quarantine(.account, label: "late")
            }
            await other?.end()
        }
        await late.end()
        #expect(try await storage.read(.account) == StoredEntry(bytes: [1], revision: first))
    }

    @Test func `Refuses changes of a holder that lost the etcd lease`() async throws {
        let cluster = try cluster()
        let storage = try cluster.storage("refreshing")
        let first = try await storage.write([1])
        let lease = try await storage.acquireRefreshLease(timeout: .seconds(60))
        let before = try await lease.beginTransaction(timeout: .seconds(60))
        let second = try await before.replace(.account, with: [2], ifRevision: first).revision
        await before.end()
        #expect(await lease.permit(for: .seconds(5)) != nil)
        #expect(await lease.permit(for: .seconds(60)) == nil, "the lease has 15 s before a request")
        try cluster.revokeLease(of: "refreshing/exerciser/default/.refresh")
        #expect(await lease.permit(for: .zero) == nil, "no process holds it")
        let other = try await storage.acquireRefreshLease(timeout: .seconds(60))
        let late = try await lease.beginTransaction(timeout: .seconds(60))
        await expectAccountError(.conflict, "a write by a former holder of the refresh lease") {
            _ = try await late.replace(.account, with: [3], ifRevision: second)
        }
        await late.end()
        await lease.end()
        let next = try await other.beginTransaction(timeout: .seconds(60))
        _ = try await next.replace(.account, with: [4], ifRevision: second)
        await next.end()
        await other.end()
        #expect(try await storage.read(.account)?.bytes == [4])
    }

    // MARK: Faults

    @Test(arguments: [CuttingProxy.Fault.response, .request])
    func `Makes an etcd change only once if the connection is cut`(_ fault: CuttingProxy.Fault) async throws {
        let cluster = try cluster()
        let proxy = try await CuttingProxy(to: cluster.nodes[0].port)
        let storage = try EtcdArchiveStorage(
            location: EtcdLocation("etcd://127.0.0.1:\(proxy.port)/cut-\(fault)"),
            container: cluster.folder.container())
        let transaction = try await storage.beginTransaction(timeout: .seconds(60))
        proxy.cutNext(fault)
        let receipt = try await transaction.replace(.account, with: [1], ifRevision: nil)
        #expect(proxy.cutCount == 1, "it was cut")
        proxy.cutNext(fault)
        let second = try await transaction.replace(.account, with: [2], ifRevision: receipt.revision)
        #expect(try await storage.read(.account) == StoredEntry(bytes: [2], revision: second.revision))
        let fields = try cluster.etcdctl("get", "cut-\(fault)/exerciser/default/Account.plist", "-w", "fields")
        #expect(fields.contains("\"Version\" : 2\n"), "expected only two writes: \(fields)")
        proxy.cutNext(fault)
        #expect(try await transaction.remove(.account, ifRevision: second.revision) == .durable)
        #expect(proxy.cutCount == 3)
        await transaction.end()
        #expect(try await storage.read(.account) == nil)
        await proxy.close()
    }

    @Test func `Makes an etcd change after an earlier change with an unknown result`() async throws {
        let cluster = try cluster()
        let storage = try cluster.storage("uncertain")
        let first = try await storage.write([1])
        let transaction = try await storage.beginTransaction(timeout: .seconds(60))
        // Change the lock's version, as an earlier change with an unknown result would.
        try cluster.etcdctl("put", "uncertain/exerciser/default/.lock", "--ignore-value", "--ignore-lease")
        let receipt = try await transaction.replace(.account, with: [2], ifRevision: first)
        #expect(try await transaction.read(.account)?.bytes == [2])
        await transaction.end()
        #expect(try await storage.read(.account) == StoredEntry(bytes: [2], revision: receipt.revision))
    }

    @Test func `Refuses a value above etcd's limit before a refresh token is spent`() async throws {
        let storage = try cluster().storage("large")
        let first = try await storage.write([1])
        let transaction = try await storage.beginTransaction(timeout: .seconds(60))
        for count in [1_600_000, 2_600_000] {
            await expectAccountError(.tooLarge, "\(count) bytes are too many to reserve") {
                try await transaction.reserve(.account, byteCount: count)
            }
            await expectAccountError(.tooLarge, "\(count) bytes are too many to write") {
                _ = try await transaction.replace(
                    .account, with: [UInt8](repeating: 7, count: count), ifRevision: first)
            }
        }
        _ = try await transaction.replace(.account, with: [2], ifRevision: first)
        await transaction.end()
        #expect(try await storage.read(.account)?.bytes == [2])
    }

    @Test func `Reports a conflict for the revision of another storage`() async throws {
        let storage = try cluster().storage("foreign")
        try await storage.write([1])
        let transaction = try await storage.beginTransaction(timeout: .seconds(60))
        await expectAccountError(.conflict, "a digest is not an etcd revision") {
            _ = try await transaction.replace(
                .account, with: [2], ifRevision: ArchiveRevision(bytes: [UInt8](repeating: 1, count: 16)))
        }
        await transaction.end()
    }

    // MARK: Changes

    @Test func `Reports changes that another machine makes in etcd`() async throws {
        let cluster = try cluster()
        let (here, there) = (try cluster.storage("changes"), try cluster.storage("changes", machine: TemporaryFolder()))
        var changes = here.changes(of: .account).makeAsyncIterator()
        try await changes.next()
        let first = try await there.write([1])
        try await changes.next()
        #expect(try await here.read(.account)?.revision == first)
        let transaction = try await there.beginTransaction(timeout: .seconds(60))
        _ = try await transaction.remove(.account, ifRevision: first)
        await transaction.end()
        try await changes.next()
        #expect(try await here.read(.account) == nil)
    }

    @Test func `Reports etcd changes since the last read of an entry`() async throws {
        let cluster = try cluster()
        let (here, there) = (try cluster.storage("since"), try cluster.storage("since", machine: TemporaryFolder()))
        try await there.write([1])
        #expect(try await here.read(.account)?.bytes == [1])
        let last = try await there.write([2])
        for try await _ in here.changes(of: .account) { break }
        #expect(try await here.read(.account)?.revision == last)
    }

    @Test func `Ends an etcd watch without changes after its time limit`() async throws {
        let client = try cluster().client()
        try await client.watch(.watch("nothing/", toEndOf: "nothing/", from: 1), for: .milliseconds(300)) { _ in true }
    }

    @Test func `Reports changes after a compaction of etcd`() async throws {
        let cluster = try cluster()
        let storage = try cluster.storage("compacted")
        let first = try #require(try await storage.write([1]).modRevision)
        try await storage.write([2])
        let last = try #require(try await storage.write([3]).modRevision)
        try cluster.etcdctl("compaction", "\(last)")
        let watch = SessionWatch(client: storage.client, folder: storage.key(""), revision: first)
        var changes = watch.changes(of: storage.key("Account.plist")).makeAsyncIterator()
        // Wait until the watch has begun.
        try await changes.next()
        // Etcd ends a watch of a compacted revision. The next watch begins at an available one.
        try await changes.next()
        try await storage.write([4])
        try await changes.next()
    }

    /// The restored cluster counts from an older revision.
    @Test func `Reports changes after a restored backup of etcd`() async throws {
        let storage = try cluster().storage("restored")
        let watch = SessionWatch(client: storage.client, folder: storage.key(""), revision: 1_000_000_000)
        var changes = watch.changes(of: storage.key("Account.plist")).makeAsyncIterator()
        // Wait until the watch has begun for the second time.
        try await changes.next()
        try await changes.next()
        try await storage.write([1])
        try await changes.next()
    }

    @Test func `Shares one etcd watch among listeners of different entries`() async throws {
        let cluster = try await EtcdCluster()
        try await cluster.waitUntilReady()
        let (here, there) = (try cluster.storage("many"), try cluster.storage("many", machine: TemporaryFolder()))
        let accounts = (1...1000).map { _ in here.changes(of: .account) }
        let signOuts = here.changes(of: .signOut)
        // Wait until the watch has begun.
        for changes in accounts + [signOuts] { for try await _ in changes { break } }
        try await there.write([1])
        for changes in accounts { for try await _ in changes { break } }
        #expect(try cluster.metric("etcd_debugging_mvcc_watcher_total") == 1)
        let next = Task { for try await _ in signOuts { return } }
        let transaction = try await there.beginTransaction(timeout: .seconds(60))
        _ = try await transaction.replace(.signOut, with: [2], ifRevision: nil)
        await transaction.end()
        try await next.value
    }

    @Test func `Waits for a held lease without another read of etcd`() async throws {
        let cluster = try await EtcdCluster()
        try await cluster.waitUntilReady()
        func reads() throws -> Int {
            try cluster.metric(
                #"grpc_server_started_total{grpc_method="Range",grpc_service="etcdserverpb.KV",grpc_type="unary"}"#)
        }
        func watches() throws -> Int { try cluster.metric("etcd_debugging_mvcc_watcher_total") }
        var counts: [Int] = []
        // If etcd responds slowly, the storage reads the lock again, so one fast attempt is enough.
        for attempt in 1...20 where !counts.contains(2) {
            let session = "wait\(attempt)"
            let here = try cluster.storage(session)
            let there = try cluster.storage(session, machine: TemporaryFolder())
            let held = try await there.acquireRefreshLease(timeout: .seconds(60))
            while try watches() > 0 {}
            let before = try reads()
            await expectAccountError(.busy, "another process holds it") {
                _ = try await here.acquireRefreshLease(timeout: .zero)
            }
            let waiting = Task { try await here.acquireRefreshLease(timeout: .seconds(120)) }
            while try watches() == 0 {}
            await held.end()
            await (try await waiting.value).end()
            counts.append(try reads() - before)
        }
        #expect(counts.min() == 2, "one read when the lock was held, and one after its release: \(counts)")
    }

    @Test func `Keeps a lease for 75 seconds after its release during an exchange`() async throws {
        let cluster = try cluster()
        let storage = try cluster.storage("unfinished")
        let lease = try await storage.acquireRefreshLease(timeout: .seconds(60))
        let transaction = try await lease.beginTransaction(timeout: .seconds(60))
        transaction.announceRequest()
        _ = try await transaction.replace(.refreshRecord, with: [1], ifRevision: nil)
        await transaction.end()
        await lease.end()
        await expectAccountError(.busy, "the token may have been sent, but its successor not stored") {
            _ = try await storage.acquireRefreshLease(timeout: .zero)
        }
        #expect(try cluster.timeToLive(ofLeaseOf: "unfinished/exerciser/default/.refresh") == 75)
    }

    @Test func `Releases the lease at once after a failure before the request`() async throws {
        let cluster = try cluster()
        let storage = try cluster.storage("unsent")
        let lease = try await storage.acquireRefreshLease(timeout: .seconds(60))
        let transaction = try await lease.beginTransaction(timeout: .seconds(60))
        _ = try await transaction.replace(.refreshRecord, with: [1], ifRevision: nil)
        #expect(try cluster.timeToLive(ofLeaseOf: "unsent/exerciser/default/.refresh") == 15)
        await transaction.end()
        await lease.end()
        let next = try await storage.acquireRefreshLease(timeout: .zero)
        // An intent after that failure extends the lease.
        let last = try await next.beginTransaction(timeout: .seconds(60))
        let revision = try await last.read(.refreshRecord)?.revision
        last.announceRequest()
        _ = try await last.replace(.refreshRecord, with: [2], ifRevision: revision)
        await last.end()
        #expect(try cluster.timeToLive(ofLeaseOf: "unsent/exerciser/default/.refresh") == 75)
        await next.end()
    }

    @Test func `Reports etcd members, quorum, TLS and the refreshing process`() async throws {
        let cluster = try await EtcdCluster(nodeCount: 3)
        try await cluster.waitUntilReady()
        let storage = try cluster.storage("inspection")
        // On a busy machine, the members occasionally respond late, or elect another leader.
        func texts(_ label: String, where isExpected: ([String]) -> Bool = { _ in true }) async -> [String] {
            let deadline = ContinuousClock.now + .seconds(120)
            while true {
                let texts = await storage.inspect().filter { $0.label == label }.map { $0.text + ($0.advice ?? "") }
                if isExpected(texts) || ContinuousClock.now >= deadline { return texts }
            }
        }
        var members = await texts("Member") { $0.count { $0.contains(", leads: etcd 3.") } == 1 }
        #expect(members.count == 3 && members.count { $0.contains(", leads: etcd 3.") } == 1, "\(members)")
        let quorum = ["yes, of 3 members"]
        #expect(await texts("Quorum") { $0 == quorum } == quorum)
        #expect(await texts("TLS") == ["none"])
        #expect(await texts("Refreshing") == [])
        let lease = try await storage.acquireRefreshLease(timeout: .seconds(60))
        #expect(await texts("Refreshing") { !$0.isEmpty }.first?.hasPrefix("process ") == true)
        await lease.end()
        let one = try EtcdArchiveStorage(
            location: EtcdLocation("etcd://\(cluster.nodes[0].endpoint)/inspection"),
            container: cluster.folder.container())
        #expect(await one.inspect().contains { $0.text == "the address names 1 of 3" && $0.advice != nil })
        cluster.kill("node1")
        cluster.kill("node2")
        #expect(await texts("Quorum").first?.hasPrefix("none") == true)
        members = await texts("Member")
        #expect(members.count { $0.contains("check that the node runs") } == 2, "\(members)")
    }

    @Test func `Extends the lease to 75 seconds before the token may be sent`() async throws {
        let cluster = try cluster()
        let storage = try cluster.storage("stages")
        let key = "stages/exerciser/default/.refresh"
        let lease = try await storage.acquireRefreshLease(timeout: .seconds(60))
        #expect(try cluster.timeToLive(ofLeaseOf: key) == 15)
        let transaction = try await lease.beginTransaction(timeout: .seconds(60))
        let receipt = try await transaction.replace(.account, with: [1], ifRevision: nil)
        #expect(try cluster.timeToLive(ofLeaseOf: key) == 15)
        transaction.announceRequest()
        let record = try await transaction.replace(.refreshRecord, with: [1], ifRevision: nil)
        await transaction.end()
        #expect(try cluster.timeToLive(ofLeaseOf: key) == 75)
        // The same lease also saves the response.
        let last = try await lease.beginTransaction(timeout: .seconds(60))
        _ = try await last.replace(.account, with: [2], ifRevision: receipt.revision)
        _ = try await last.remove(.refreshRecord, ifRevision: record.revision)
        await last.end()
        #expect(await lease.permit(for: .seconds(60)) != nil)
        await lease.end()
        let next = try await storage.acquireRefreshLease(timeout: .zero)
        await next.end()
    }
}

extension EtcdArchiveStorage {
    /// Writes the account in place of any stored account.
    @discardableResult
    func write(_ bytes: [UInt8]) async throws -> ArchiveRevision {
        let transaction = try await begin()
        do {
            let receipt = try await transaction.replace(
                .account, with: bytes, ifRevision: try await transaction.read(.account)?.revision)
            await transaction.end()
            return receipt.revision
        } catch {
            await transaction.end()
            throw error
        }
    }

    /// Begins a transaction. Retries on a busy machine, where etcd may respond late or elect another leader.
    private func begin() async throws -> any ArchiveTransaction {
        let deadline = ContinuousClock.now + .seconds(120)
        while true {
            do {
                return try await beginTransaction(timeout: .seconds(120))
            } catch let error as AccountError where error.code == .storeUnreachable && ContinuousClock.now < deadline {
                continue
            }
        }
    }
}
