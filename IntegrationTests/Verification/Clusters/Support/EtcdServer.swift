@testable import EndToEndSupport
import Foundation
import NIOCore
import NIOHTTP1
import Subprocess
import Testing

/// One etcd node on the loopback interface, for a suite.
struct EtcdServer: Sendable {
    let port: Int

    /// The value for `--store` and `ACCOUNT_STORE`.
    func url(_ prefix: String) -> String { "etcd://127.0.0.1:\(port)/\(prefix)" }

    /// Starts a node, and ends it after the test.
    static func run<Result: Sendable>(_ test: (EtcdServer) async throws -> Result) async throws -> Result {
        try await Container.run { container in
            let (port, peer) = (try FreePort.find(), try FreePort.find())
            let (client, peerURL) = ("http://127.0.0.1:\(port)", "http://127.0.0.1:\(peer)")
            // etcd logs to standard error, and its termination status is the signal that it received.
            let words = [
                "bash", "-c", #"exec "$@" 2> >(exec cat)"#, "bash", "etcd", "--name", "node", "--data-dir",
                container.path("etcd"), "--listen-client-urls", client, "--advertise-client-urls", client,
                "--listen-peer-urls", peerURL, "--initial-advertise-peer-urls", peerURL, "--initial-cluster",
                "node=\(peerURL)", "--logger", "zap", "--log-level", "info",
            ]
            return try await ServerProcess.run(
                Command(words: words, environment: container.environment),
                readingAddress: { $0.contains("serving client traffic") ? client : nil },
                endingAs: .signaled(Signal.terminate.rawValue)
            ) { _ in try await test(EtcdServer(port: port)) }
        }
    }

    @discardableResult
    func post(_ path: String, _ body: [String: String]) async throws -> [String: Any] {
        let response = try await HTTP.send(
            .POST, "http://127.0.0.1:\(port)\(path)", body: Array(try JSONEncoder().encode(body)),
            contentType: "application/json")
        guard response.status == 200 else { throw Unexpected(response.text) }
        return try JSONSerialization.jsonObject(with: Data(response.text.utf8)) as? [String: Any] ?? [:]
    }

    /// Runs `etcdctl` with words that have no spaces.
    func control(_ words: String) async throws -> Outcome {
        try await Command(
            words: ["etcdctl", "--endpoints", "127.0.0.1:\(port)"] + words.split(separator: " ").map(String.init),
            environment: ["ETCDCTL_API": "3"]
        ).run()
    }

    func put(_ key: String, base64 value: String) async throws {
        try await post("/v3/kv/put", ["key": key.base64, "value": value])
    }

    /// The node's version, such as `3.4.23`.
    func version() async throws -> String {
        guard let version = try await post("/v3/maintenance/status", [:])["version"] as? String else {
            throw Unexpected("etcd reports no version")
        }
        return version
    }

    func get(_ key: String) async throws -> String? {
        let found = try await post("/v3/kv/range", ["key": key.base64])["kvs"] as? [[String: String]]
        return found?.first?["value"]
    }
}

extension String {
    var base64: String { Data(utf8).base64EncodedString() }
}

/// One node for all tests of a suite.
struct SharedEtcd: SuiteTrait, TestScoping {
    @TaskLocal fileprivate static var current: EtcdServer?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withoutActuallyEscaping(function) { function in
            try await EtcdServer.run { server in try await Self.$current.withValue(server) { try await function() } }
        }
    }
}

extension SuiteTrait where Self == SharedEtcd {
    static var etcd: Self { Self() }
}

extension EtcdServer {
    /// The suite's node.
    static var shared: EtcdServer {
        get throws {
            guard let server = SharedEtcd.current else { throw Unexpected("the suite has no etcd") }
            return server
        }
    }
}
