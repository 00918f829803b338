@testable import EndToEndSupport
import Foundation
import Subprocess

/// alice with `webdav`, signed in, and WsgiDAV behind a proxy that can cut a connection. WsgiDAV is a WebDAV server
/// that is not part of this project; see `Fixtures/wsgidav/server.py`.
struct WebDAVUser: Sendable {
    let container: Container
    let server: ExampleServer
    let webdav: Tool
    private let proxyControl: String

    /// The folder that the server serves.
    var folder: String { container.path("served") }
    var caches: String { container.home + "/Library/Caches" }

    static func run(_ test: (WebDAVUser) async throws -> Void) async throws {
        try await Container.run { container in
            let python = try await PythonEnvironment.prepare("wsgidav", importing: "wsgidav", "cheroot", in: container)
            try FileManager.default.createDirectory(
                atPath: container.path("served"), withIntermediateDirectories: false)
            let files = Command(words: [
                python, "-B", BuiltProducts.fixture("wsgidav/server.py"), "--folder", container.path("served"),
            ])
            try await ExampleServer.run { server in
                try await ServerProcess.run(files) { origin in
                    let upstream = String(URL(string: origin)?.port ?? 0)
                    let proxy = ["python3", "-B", BuiltProducts.fixture("cutting_proxy.py"), "--upstream", upstream]
                    try await ServerProcess.run(Command(words: proxy)) { addresses in
                        let parts = addresses.split(separator: " ").map(String.init)
                        guard parts.count == 2 else { throw Unexpected(addresses) }
                        let user = try WebDAVUser(container, server, origin: parts[0], control: parts[1])
                        try await user.signIn()
                        try await test(user)
                    }
                }
            }
        }
    }

    private init(_ container: Container, _ server: ExampleServer, origin: String, control: String) throws {
        self.container = container
        self.server = server
        proxyControl = control
        var environment = container.environment
        environment["ACCOUNT_HOME"] = nil
        environment["WEBDAV_HOME"] = container.home
        environment["WEBDAV_ORIGIN"] = origin
        webdav = Tool(path: try BuiltProducts.path(of: "webdav"), environment: environment)
    }

    func signIn() async throws {
        let outcome = try await webdav.run(
            ["account", "login", "--issuer", server.issuer, "--username", "alice", "--password-stdin"],
            input: ExampleServer.alicePassword + "\n")
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    /// How a download is interrupted.
    enum End { case cut, killed }

    /// Starts a download, and interrupts it after `count` bytes.
    func get(_ id: String, owner: String = "tests", until count: Int, _ end: End) async throws -> Outcome {
        // Leave room for the response's header.
        try await tellProxy("/hold?after=\(count + 65_536)")
        return try await webdav.command(["get", id, "--owner", owner]).whileRunning { running in
            _ = try await running.errors.match { Self.progress($0).flatMap { $0 >= count ? $0 : nil } }
            switch end {
            case .cut: try await tellProxy("/cut")
            case .killed: try await running.send(.kill)
            }
        }
    }

    /// The last report of progress.
    private static func progress(_ text: String) -> Int? {
        let line = text.split(separator: "\n").last { $0.contains(" of ") }
        return line?.split(separator: " ").first.flatMap { Int($0) }
    }

    private func tellProxy(_ path: String) async throws {
        let response = try await HTTP.get(proxyControl + path)
        guard response.status == 200 else { throw Unexpected(response.text) }
    }

    /// Writes a file of random bytes to the server's folder.
    func serve(_ name: String, byteCount: Int) async throws {
        let outcome = try await Command(words: [
            "sh", "-ec", #"head -c "$1" /dev/urandom > "$2""#, "sh", String(byteCount), folder + "/" + name,
        ]).run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    func isSame(_ path: String, _ other: String) async throws -> Bool {
        try await Command(words: ["cmp", "--", path, other]).run().exitCode == 0
    }

    /// The names of the blobs' files, complete and partial.
    func blobFiles() throws -> (whole: [String], partial: [String]) {
        let names = try FileManager.default.subpathsOfDirectory(atPath: caches).compactMap {
            $0.split(separator: "/").last
        }
        .map(String.init).filter { $0.utf8.count >= 64 }
        return (names.filter { !$0.hasPrefix(".") }, names.filter { $0.hasPrefix(".") })
    }
}

extension Outcome {
    /// The words of the first line of the output.
    var words: [String] { output.split(separator: "\n").first?.split(separator: " ").map(String.init) ?? [] }

    /// The number of bytes in the first progress report.
    var firstProgress: Int? {
        errors.split(separator: "\n").first?.split(separator: " ").first.flatMap { Int($0) }
    }
}
