@testable import EndToEndSupport
import Foundation

/// alice, whose service is reachable only through a proxy, since her own system cannot resolve the service's name.
struct ProxiedUser: Sendable {
    let container: Container
    /// The `account` command, in an environment with the certificate and the proxy.
    let account: Tool
    /// The certificate of the service.
    let certificate: Certificate
    /// The address of the service, with the name that only the proxy can resolve.
    let issuer: String

    /// Runs a test with alice before her first sign-in.
    ///
    /// - Parameters:
    ///   - configuration: Further lines of tinyproxy.conf(5).
    ///   - credentials: The user name and password for the proxy, in the form in which they appear in its address.
    ///   - subject: The subject of the service's certificate.
    ///   - test: The test.
    /// - Returns: The requests to the proxy.
    @discardableResult
    static func run(
        proxy configuration: [String] = [], credentials: String? = nil, subject: String = "DNS:\(ProxyServer.onlyName)",
        _ test: (ProxiedUser) async throws -> Void
    ) async throws -> [String] {
        try await Container.run { container in
            let certificate = try await Certificate.make(for: subject, in: container)
            return try await ExampleServer.run(certificate.serverOptions + ["--name", ProxyServer.onlyName]) { server in
                try await ProxyServer.run(configuration, in: container) { proxy in
                    let address = "http://" + (credentials.map { $0 + "@" } ?? "") + proxy.authority
                    let account = try Tool.account(in: container)
                        .with("SSL_CERT_FILE", certificate.path).with("HTTPS_PROXY", address)
                    try await test(
                        ProxiedUser(
                            container: container, account: account, certificate: certificate,
                            issuer: "https://\(ProxyServer.onlyName):\(server.port)"))
                }
            }
        }
    }

    /// Runs the command on alice's system.
    ///
    /// - Parameter variables: Changes to the environment, where `nil` removes a variable.
    func callAsFunction(
        _ arguments: String..., with variables: [String: String?] = [:], input: String = ""
    ) async throws -> Outcome {
        var tool = account
        for (name, value) in variables { tool = tool.with(name, value) }
        return try await tool.command(arguments).runWithoutNames(in: container).run(input: input)
    }

    /// Tries to sign in.
    func login(with variables: [String: String?] = [:]) async throws -> Outcome {
        try await self(
            "login", "--issuer", issuer, "--username", "alice", "--password-stdin", with: variables,
            input: ExampleServer.alicePassword + "\n")
    }

    /// Signs in, and clears the log.
    func signIn() async throws {
        let outcome = try await login()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        try await clearLog()
    }

    /// The requests that the service has received.
    func log() async throws -> ExampleServer.Log {
        try JSONDecoder().decode(ExampleServer.Log.self, from: Data(try await control("GET", "log").utf8))
    }

    func clearLog() async throws { _ = try await control("DELETE", "log") }

    func expireTokens() async throws { _ = try await control("POST", "expire") }

    /// Sends the request with curl(1), which accepts an address for the name and a trusted certificate.
    private func control(_ method: String, _ path: String) async throws -> String {
        let host = issuer.dropFirst("https://".count)
        let outcome = try await Command(
            words: [
                "curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "--cacert", certificate.path,
                "--resolve", "\(host):127.0.0.1", "--request", method, "\(issuer)/control/\(path)",
            ]
        ).run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return outcome.output
    }
}
