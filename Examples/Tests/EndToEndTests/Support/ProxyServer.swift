import Foundation

/// tinyproxy(8), which can resolve the name of a server that nobody else can.
struct ProxyServer: Sendable {
    /// A name of this machine that only the proxy knows.
    static let onlyName = "auth.test"

    /// Host and port.
    let authority: String

    /// An address of the loopback interface at which nothing listens: of all the 2^24 there are, a random one.
    static func unusedAuthority() -> String {
        "127.\((1...254).map(String.init).shuffled().prefix(3).joined(separator: ".")):8888"
    }

    /// Starts a proxy, and ends it after the test.
    ///
    /// - Parameters:
    ///   - configuration: Further lines of tinyproxy.conf(5).
    ///   - container: Where its files are.
    ///   - test: Gets the proxy.
    /// - Returns: What it was asked for, such as `CONNECT example.com:443`, in the order of the requests.
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
        // Complete only now that the proxy has ended.
        let text = try String(contentsOfFile: log, encoding: .utf8)
        return text.matches(of: /Request \(file descriptor \d+\): (.*) HTTP\/1\.[01]/).map { String($0.1) }
    }
}

extension Command {
    /// The same, on a system that knows no other names than its own.
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

extension Command {
    /// The same command, on a machine whose hosts file gives `localhost` another address.
    func runWhereLocalhostLeads(to address: String, in container: Container) throws -> Command {
        let hosts = container.path("misleading-hosts")
        try container.write("\(address) localhost\n".utf8, to: hosts, permissions: 0o644)
        return run(inMountsOfItsOwn: "mount --bind '\(hosts)' /etc/hosts")
    }
}
