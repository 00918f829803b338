import AccountKit
import Testing

@testable import AccountFleet

@Suite struct EtcdLocationTests {
    @Test func `Names the shared place of an etcd storage after the prefix`() throws {
        let storage = try EtcdArchiveStorage(
            location: EtcdLocation("etcd://a.example,b.example:2380//notes/team/"),
            container: AppContainer(root: "/nonexistent", identifier: "testing"))
        #expect(storage.sharedPlace == "notes/team")
    }

    @Test func `Parses an etcd location into nodes and a prefix`() throws {
        let location = try EtcdLocation("etcds://a.example:2379,10.0.0.2:4001,[::1]:99/teams/ci/")
        #expect(location.endpoints == ["a.example:2379", "10.0.0.2:4001", "[::1]:99"])
        #expect(location.prefix == "teams/ci")
        #expect(location.usesTLS)
        #expect(location.description == "etcds://a.example:2379,10.0.0.2:4001,[::1]:99/teams/ci")
        #expect(try EtcdLocation(location.description) == location)
    }

    @Test func `Uses a default port and prefix for an etcd location`() throws {
        let location = try EtcdLocation("etcd://localhost,[fe80::1]")
        #expect(location.endpoints == ["localhost:2379", "[fe80::1]:2379"])
        #expect(location.prefix == "account")
        #expect(!location.usesTLS)
    }

    @Test(arguments: [
        "", "localhost:2379", "http://localhost:2379/a", "etcd://", "etcd:///a", "etcd://a,,b/x",
        "etcd://a:0/x", "etcd://a:65536/x", "etcd://a:+1/x", "etcd://a b/x", "etcd://[::1/x", "etcd://[]:1/x",
        "etcd://a/x y", "etcd://a/x//y", "etcd://a/x?y", "etcd://[::1]x:1/a", "etcd://a:1:2/x",
    ])
    func rejectsInvalidLocations(_ text: String) {
        #expect { try EtcdLocation(text) } throws: { ($0 as? AccountError)?.code == .invalidArgument }
    }

    @Test func `Rejects an etcd location with a password and hides the password`() {
        #expect {
            try EtcdLocation("etcd://root:hunter2@a:2379/x")
        } throws: { error in
            "\(error)".contains("ETCDCTL_USER") && !"\(error)".contains("hunter2")
        }
    }

    @Test(arguments: [
        ("etcd://localhost,127.0.0.1:1,[::1]:2", true), ("etcd://localhost,a", false),
        ("etcd://127.0.0.1,127.x.example", false), ("etcd://127.attacker.example", false),
    ])
    func recognizesLoopbackLocations(_ text: String, _ isLoopback: Bool) throws {
        #expect(try EtcdLocation(text).isLoopback == isLoopback)
    }
}

@Suite struct EtcdCredentialsTests {
    private func credentials(_ values: [String: String]) throws -> EtcdCredentials {
        try EtcdCredentials(environment: { values[$0] })
    }

    @Test func `Reads the same credentials as etcdctl`() throws {
        let credentials = try credentials([
            "ETCDCTL_CACERT": "/ca", "ETCDCTL_CERT": "/cert", "ETCDCTL_KEY": "/key", "ETCDCTL_USER": "ci:a:b",
            "SSL_CERT_FILE": "/all",
        ])
        #expect(credentials.files.authority == "/ca")
        #expect(credentials.files.certificate == "/cert")
        #expect(credentials.files.key == "/key")
        #expect(credentials.user?.name == "ci")
        #expect(credentials.user?.password.reveal() == "a:b")
        #expect(try self.credentials([:]).user == nil)
        #expect(try self.credentials([:]).files.authority == nil)
        #expect(try self.credentials(["SSL_CERT_FILE": "/all"]).files.authority == "/all")
    }

    @Test(arguments: [["ETCDCTL_CERT": "/c"], ["ETCDCTL_KEY": "/k"], ["ETCDCTL_USER": "ci"], ["ETCDCTL_USER": ":x"]])
    func `Refuses incomplete etcd credentials`(_ values: [String: String]) {
        #expect { try credentials(values) } throws: { ($0 as? AccountError)?.code == .invalidArgument }
    }

    @Test func `Sends an etcd password only over TLS`() throws {
        let container = try AppContainer(root: "/nowhere", identifier: "tests")
        let user = EtcdCredentials(user: .init(name: "ci", password: Secret("x")))
        func storage(_ location: String) throws -> EtcdArchiveStorage {
            try EtcdArchiveStorage(location: EtcdLocation(location), credentials: user, container: container)
        }
        for location in ["etcd://a.example", "etcd://127.attacker.example:2379"] {
            #expect { try storage(location) } throws: { ($0 as? AccountError)?.code == .misconfigured }
        }
        _ = try storage("etcds://a.example")
        _ = try storage("etcd://127.0.0.1:2379")
    }
}
