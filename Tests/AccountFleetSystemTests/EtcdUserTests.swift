import AccountKit
import AccountTesting
import Foundation
import Testing

@testable import AccountFleet

/// The users and roles of etcd.
@Suite struct EtcdUserTests {
    @Test func `Limits an etcd user to the permissions of its role`() async throws {
        let cluster = try await EtcdCluster()
        try await cluster.waitUntilReady()
        try cluster.etcdctl("user", "add", "root:r")
        try cluster.etcdctl("user", "grant-role", "root", "root")
        for (name, right) in [("reader", "read"), ("writer", "readwrite")] {
            try cluster.etcdctl("role", "add", name)
            try cluster.etcdctl("role", "grant-permission", "--prefix=true", name, right, "users/")
            try cluster.etcdctl("user", "add", "\(name):secret")
            try cluster.etcdctl("user", "grant-role", name, name)
        }
        try cluster.etcdctl("auth", "enable")
        func storage(_ name: String?, _ password: String = "secret", prefix: String = "users") throws
            -> EtcdArchiveStorage
        {
            try cluster.storage(
                prefix, machine: TemporaryFolder(),
                credentials: EtcdCredentials(user: name.map { .init(name: $0, password: Secret(password)) }))
        }

        let writer = try storage("writer")
        try await writer.write([1])
        #expect(try await storage("reader").read(.account)?.bytes == [1])
        await expectAccountError(.misconfigured, "a read-only role acquires no lock") {
            _ = try await storage("reader").beginTransaction(timeout: .zero)
        }
        await expectAccountError(.misconfigured, "the role has no access to another prefix") {
            _ = try await storage("writer", prefix: "others").read(.account)
        }
        await expectAccountError(.misconfigured, "a wrong password") {
            _ = try await storage("writer", "wrong").read(.account)
        }
        await expectAccountError(.misconfigured, "no user") { _ = try await storage(nil).read(.account) }
        await #expect(throws: AccountError.self, "entries that may not be read are not watched either") {
            for try await _ in try storage("writer", prefix: "others").changes(of: .account) {}
        }

        for (name, password, isWell) in [("writer", "secret", true), ("root", "r", false)] {
            let user = try #require(await storage(name, password).inspect().first { $0.label == "User" })
            #expect(user.text.hasPrefix(name) && (user.advice == nil) == isWell, "\(user)")
        }

        // A restarted node rejects the tokens that it issued before the restart.
        cluster.kill("node1")
        try cluster.start("node1")
        while true {
            do {
                try await writer.write([2])
                break
            } catch let error as AccountError where error.code == .storeUnreachable {
                continue
            }
        }
        #expect(try await writer.read(.account)?.bytes == [2])
    }
}
