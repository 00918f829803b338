import AccountKit
import BoundedWaiting
import Foundation
import Synchronization
import Testing

@testable import AccountFleet

/// An etcd cluster on the loopback interface, whose nodes are processes of the test.
final class EtcdCluster: Sendable {
    struct Node: Sendable {
        var name: String
        var port: Int
        var peerPort: Int
        var arguments: [String]

        var endpoint: String { "127.0.0.1:\(port)" }
    }

    let folder: TemporaryFolder
    let nodes: [Node]
    let scheme: String
    private let processes = Mutex<[String: Process]>([:])

    /// - Parameter arguments: Additional arguments for each node.
    init(nodeCount: Int = 1, scheme: String = "http", arguments: [String] = []) async throws {
        let folder = try TemporaryFolder()
        self.folder = folder
        self.scheme = scheme
        let ports = try (0..<2 * nodeCount).map { _ in try FreePort.find() }
        let names = (1...nodeCount).map { "node\($0)" }
        let peers = zip(names, ports[nodeCount...]).map { "\($0)=http://127.0.0.1:\($1)" }.joined(separator: ",")
        // On a busy machine, the default of one second causes unwanted elections.
        let election = nodeCount > 1 ? ["--election-timeout", "1500"] : []
        nodes = names.enumerated().map { index, name in
            let (client, peer) = (
                "\(scheme)://127.0.0.1:\(ports[index])", "http://127.0.0.1:\(ports[nodeCount + index])"
            )
            return Node(
                name: name, port: ports[index], peerPort: ports[nodeCount + index],
                arguments: [
                    "--name", name, "--data-dir", "\(folder.path)/\(name)", "--listen-client-urls", client,
                    "--advertise-client-urls", client, "--listen-peer-urls", peer,
                    "--initial-advertise-peer-urls", peer, "--initial-cluster", peers, "--logger", "zap", "--log-level",
                    "error",
                    "--log-outputs", "\(folder.path)/\(name).log",
                ] + election + arguments)
        }
        for node in nodes { try start(node.name) }
    }

    deinit {
        for name in processes.withLock({ Array($0.keys) }) { kill(name) }
    }

    // MARK: Nodes

    /// A Python program in place of a shell, because the signals that a shell uses to wait may be blocked.
    private static let keeper =
        "import subprocess, sys; node = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL); "
        + "sys.stdin.read(1); node.kill(); node.wait()"

    func start(_ name: String) throws {
        let node = try #require(nodes.first { $0.name == name })
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        // The node ends on command, or when the other end of the pipe closes, even if the tests crash.
        process.arguments = ["-c", Self.keeper, "/usr/bin/etcd"] + node.arguments
        process.standardInput = Pipe()
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.environment = ["PATH": "/usr/bin:/bin"]
        try process.run()
        processes.withLock { $0[name] = process }
    }

    func kill(_ name: String) {
        guard let process = processes.withLock({ $0.removeValue(forKey: name) }) else { return }
        // Nodes that were started later also have that end of the pipe open, so closing it would not be enough.
        (process.standardInput as? Pipe)?.fileHandleForWriting.write(Data("\n".utf8))
        do { try process.waitForEnd() } catch { Issue.record(error) }
    }

    /// Stops a node with SIGSTOP: its connections stay open, and it does not respond.
    func pause(_ name: String) throws { try send(SIGSTOP, to: name) }

    /// Continues a paused node.
    func resume(_ name: String) throws { try send(SIGCONT, to: name) }

    private func send(_ signal: Int32, to name: String) throws {
        let keeper = try #require(processes.withLock { $0[name]?.processIdentifier })
        let children = try String(contentsOfFile: "/proc/\(keeper)/task/\(keeper)/children", encoding: .utf8)
        let node = try #require(children.split(separator: " ").first.flatMap { Int32($0) }, "\(name) runs")
        try #require(sendSignal(signal, to: node) == 0)
    }

    /// Waits until the cluster reports a leader.
    func waitUntilReady(
        at location: EtcdLocation? = nil, credentials: EtcdCredentials = EtcdCredentials()
    ) async throws {
        let client = try EtcdClient(
            location: location ?? self.location(), credentials: credentials, logger: nil)
        let deadline = ContinuousClock.now + .seconds(120)
        while true {
            do {
                _ = try await client.send(.range("ready"), .committing)
                return
            } catch  where ContinuousClock.now < deadline {
                continue
            }
        }
    }

    /// The name of the leading node, according to etcdctl.
    func leader() throws -> String {
        for node in nodes {
            guard let status = try? etcdctl("--endpoints", node.endpoint, "endpoint", "status", "-w", "json"),
                let list = try JSONSerialization.jsonObject(with: Data(status.utf8)) as? [[String: Any]],
                let body = list.first?["Status"] as? [String: Any], let leader = body["leader"] as? NSNumber,
                let header = body["header"] as? [String: Any], let member = header["member_id"] as? NSNumber
            else { continue }
            if leader == member { return node.name }
        }
        throw AccountError(.inaccessible, "no node leads")
    }

    // MARK: Clients

    func location(_ prefix: String = "test") throws -> EtcdLocation {
        let endpoints = nodes.map(\.endpoint).joined(separator: ",")
        return try EtcdLocation("\(scheme == "https" ? "etcds" : "etcd")://\(endpoints)/\(prefix)")
    }

    func client(_ prefix: String = "test", credentials: EtcdCredentials = EtcdCredentials()) throws -> EtcdClient {
        try EtcdClient(location: location(prefix), credentials: credentials, logger: nil)
    }

    /// - Parameter machine: The folders of one machine; by default a new machine.
    func storage(
        _ prefix: String, machine: TemporaryFolder? = nil, credentials: EtcdCredentials = EtcdCredentials()
    ) throws -> EtcdArchiveStorage {
        try EtcdArchiveStorage(
            location: location(prefix), credentials: credentials,
            container: (machine ?? folder).container())
    }

    /// Revokes the lease of a key, as if its holder had sent no keep-alive for too long.
    func revokeLease(of key: String) throws { try etcdctl("lease", "revoke", leaseID(of: key)) }

    /// The time in seconds that a key remains after its holder has died.
    func timeToLive(ofLeaseOf key: String) throws -> Int {
        let fields = try etcdctl("lease", "timetolive", leaseID(of: key), "-w", "fields")
        return try number("GrantedTTL", in: fields)
    }

    private func leaseID(of key: String) throws -> String {
        String(try number("Lease", in: try etcdctl("get", key, "-w", "fields")), radix: 16)
    }

    private func number(_ name: String, in fields: String) throws -> Int {
        let line = try #require(fields.split(separator: "\n").first { $0.hasPrefix("\"\(name)\"") }, "\(fields)")
        return try #require(line.split(separator: " ").last.flatMap { Int($0) })
    }

    /// A metric of the first node.
    func metric(_ name: String) throws -> Int {
        let metrics = try output(of: "/usr/bin/curl", "--silent", "--fail", "\(scheme)://\(nodes[0].endpoint)/metrics")
        let line = try #require(metrics.split(separator: "\n").first { $0.hasPrefix("\(name) ") })
        return try #require(line.split(separator: " ").last.flatMap { Int($0) })
    }

    /// Runs etcdctl, which must succeed.
    @discardableResult
    func etcdctl(_ arguments: String...) throws -> String { try output(of: "/usr/bin/etcdctl", arguments) }

    private func output(of program: String, _ arguments: String...) throws -> String {
        try output(of: program, arguments)
    }

    private func output(of program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.environment = [
            "PATH": "/usr/bin:/bin", "ETCDCTL_API": "3",
            "ETCDCTL_ENDPOINTS": nodes.map(\.endpoint).joined(separator: ","),
        ].filter { !(arguments.contains("--endpoints") && $0.key == "ETCDCTL_ENDPOINTS") }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        let output = try pipe.fileHandleForReading.allBytes()
        try process.waitForEnd()
        try #require(process.terminationStatus == 0, "\(program) \(arguments)")
        return String(decoding: output, as: UTF8.self)
    }
}

/// Calls kill(2), because `EtcdCluster` has a method with the same name.
private func sendSignal(_ signal: Int32, to process: Int32) -> Int32 { kill(process, signal) }

/// One node for all tests of a suite.
struct SharedCluster: SuiteTrait, TestScoping {
    @TaskLocal static var current: EtcdCluster?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let cluster = try await EtcdCluster()
        try await cluster.waitUntilReady()
        try await Self.$current.withValue(cluster) { try await function() }
    }
}

extension SuiteTrait where Self == SharedCluster {
    static var sharedCluster: Self { Self() }
}
