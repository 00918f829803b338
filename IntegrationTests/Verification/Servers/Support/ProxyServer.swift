@testable import EndToEndSupport
import Foundation

/// tinyproxy(8), which can resolve a server name that no other program can resolve.
struct ProxyServer: Sendable {
    /// A name of this machine that only the proxy can resolve.
    static let onlyName = "auth.test"

    /// The host and port.
    let authority: String

    /// A random unused address of the loopback interface, which has 2^24 addresses.
    static func unusedAuthority() -> String {
        "127.\((1...254).map(String.init).shuffled().prefix(3).joined(separator: ".")):8888"
    }

    /// Starts a proxy, and ends it after the test.
    ///
    /// - Parameters:
    ///   - configuration: Further lines of tinyproxy.conf(5).
    ///   - container: The container for the proxy's files.
    ///   - test: Receives the proxy.
    /// - Returns: The requests, such as `CONNECT example.com:443`, in order.
    static func run(
        _ configuration: [String] = [], in container: Container, _ test: (ProxyServer) async throws -> Void
    ) async throws -> [String] {
        let proxy = ProxyServer(authority: unusedAuthority())
        let (host, port) = (proxy.authority.prefix { $0 != ":" }, proxy.authority.drop { $0 != ":" }.dropFirst())
        let base = container.path("proxy-\(host)")
        let (file, hosts, log) = (base + ".conf", base + ".hosts", base + ".log")
        let lines = ["Listen \(host)", "Port \(port)", "LogLevel Info"] + configuration
        try container.write((lines.joined(separator: "\n") + "\n").utf8, to: file)
        try container.write("127.0.0.1 localhost \(onlyName)\n".utf8, to: hosts, permissions: 0o644)
        let script = #"exec tinyproxy -d -c "$0" > >(exec tee "$1")"#
        let command = Command(words: ["bash", "-c", script, file, log], environment: container.environment)
            .run(inMountsOfItsOwn: "mount --bind '\(hosts)' /etc/hosts")
        try await ServerProcess.run(
            command, readingAddress: { $0.contains("Accepting connections") ? proxy.authority : nil }
        ) { _ in try await test(proxy) }
        // The log is complete only after the proxy has ended.
        let text = try String(contentsOfFile: log, encoding: .utf8)
        return text.matches(of: /Request \(file descriptor \d+\): (.*) HTTP\/1\.[01]/).map { String($0.1) }
    }
}

extension Command {
    /// Returns this command, run on a system that can resolve only `localhost`.
    func runWithoutNames(in container: Container) throws -> Command {
        let (hosts, resolver) = (container.path("own-hosts"), container.path("resolv.conf"))
        try container.write("127.0.0.1 localhost\n".utf8, to: hosts, permissions: 0o644)
        try container.write("nameserver 127.255.255.254\n".utf8, to: resolver, permissions: 0o644)
        return run(
            inMountsOfItsOwn: """
                mount --bind '\(hosts)' /etc/hosts
                mount --bind '\(resolver)' /etc/resolv.conf
                """)
    }
}
