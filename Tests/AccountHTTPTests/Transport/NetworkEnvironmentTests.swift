import AccountSupport
import AccountKit
import AsyncHTTPClient
import Testing

@testable import AccountHTTP

@Suite("Proxies and certificates of the environment")
struct NetworkEnvironmentTests {
    private func environment(_ variables: [String: String]) -> NetworkEnvironment {
        NetworkEnvironment { variables[$0] }
    }

    private func route(_ url: String, _ variables: [String: String]) throws -> NetworkEnvironment.Route {
        environment(variables).route(to: try ServiceURL(url))
    }

    private func isDirect(_ url: String, _ exceptions: String) throws -> Bool {
        try route(url, ["HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": exceptions]) == .direct
    }

    @Test("Uses the environment's proxy, except for loopback hosts")
    func routes() throws {
        let proxy = NetworkEnvironment.Route.proxy(try ProxyAddress("http://proxy:3128"))
        #expect(try route("https://auth.example", [:]) == .direct)
        #expect(try route("https://auth.example", ["HTTPS_PROXY": "http://proxy:3128"]) == proxy)
        #expect(
            try route("https://auth.example", ["https_proxy": "proxy:3128", "HTTPS_PROXY": "http://other"]) == proxy)
        for local in ["https://localhost:8443", "https://127.0.0.1", "https://[::1]", "http://127.0.0.1:80"] {
            #expect(try route(local, ["HTTPS_PROXY": "http://proxy:3128"]) == .direct)
        }
    }

    @Test(arguments: [
        (["ALL_PROXY": "http://all:1"], "http://all:1"), (["all_proxy": "all:1"], "http://all:1"),
        (["all_proxy": "http://low:1", "ALL_PROXY": "http://high:1"], "http://low:1"),
        (["ALL_PROXY": "http://all:1", "HTTPS_PROXY": "http://secure:1"], "http://secure:1"),
        (["all_proxy": "http://all:1", "https_proxy": "http://secure:1"], "http://secure:1"),
        // curl(1) ignores an empty variable.
        (["ALL_PROXY": "http://all:1", "HTTPS_PROXY": ""], "http://all:1"),
        (["ALL_PROXY": "socks5h://all"], "socks5://all:1080"), (["all_proxy": "socks://all:1/"], "socks5://all:1"),
        (["ALL_PROXY": "http://all:1", "NO_PROXY": "auth.example"], nil),
        (["ALL_PROXY": "http://all:1", "no_proxy": "*"], nil), (["http_proxy": "http://plain:1"], nil),
    ])
    func `Uses ALL_PROXY if there is no HTTPS_PROXY`(variables: [String: String], proxy: String?) throws {
        let route = NetworkEnvironment { name in variables[name].flatMap { $0.isEmpty ? nil : $0 } }
            .route(to: try ServiceURL("https://auth.example"))
        #expect(route == (try proxy.map { .proxy(try ProxyAddress($0)) } ?? .direct))
        #expect(try self.route("https://localhost:8443", variables) == .direct)
    }

    @Test(arguments: ["https", "socks4", "socks4a", "ftp"])
    func `Names the variable and the scheme of an unsupported proxy`(scheme: String) throws {
        guard case .impossible(let problem) = try route("https://auth.example", ["all_proxy": scheme + "://proxy:1"])
        else {
            Issue.record("the proxy was accepted")
            return
        }
        #expect(problem.hasPrefix("all_proxy has the scheme \(scheme): only http:// and socks5://"))
    }

    @Test(
        "Connects directly to hosts in NO_PROXY",
        arguments: [
            "*", "auth.example", ".auth.example", "AUTH.EXAMPLE", "example", ".example", "*.example",
            "a, auth.example ,b",
            "auth.example:443", "x auth.example",
        ])
    func exceptions(_ exceptions: String) throws {
        #expect(try isDirect("https://auth.example", exceptions))
    }

    @Test(
        "Uses the proxy for hosts that are not in NO_PROXY",
        arguments: [
            "", "uth.example", "auth.example.org", "auth", "auth.example:8443", "10.0.0.1", ",", ".", "*x", "::1",
        ])
    func noExceptions(_ exceptions: String) throws {
        #expect(try !isDirect("https://auth.example", exceptions))
    }

    @Test(
        "Matches addresses and CIDR blocks in NO_PROXY",
        arguments: [
            ("10.1.2.3", true), ("10.0.0.0/8", true), ("10.1.2.0/24", true), ("10.1.2.3/32", true), ("0.0.0.0/0", true),
            ("10.1.2.2", false), ("10.1.3.0/24", false), ("10.1.2.0/33", false), ("10.1.2.0/-1", false),
            ("10.1.2.0/x", false),
            ("2.3", false), ("10.1.2.3:443", true), ("10.1.2.3:80", false), ("::/0", false),
        ])
    func addresses(exceptions: String, isException: Bool) throws {
        #expect(try isDirect("https://10.1.2.3", exceptions) == isException)
    }

    @Test(
        "Matches IPv6 addresses in NO_PROXY",
        arguments: [
            ("2001:db8::1", true), ("[2001:db8::1]", true), ("[2001:db8::1]:443", true), ("[2001:db8::1]:80", false),
            ("2001:db8::/32", true), ("2001:db9::/32", false), ("2001:db8::2", false), ("0.0.0.0/0", false),
        ])
    func longAddresses(exceptions: String, isException: Bool) throws {
        #expect(try isDirect("https://[2001:db8::1]", exceptions) == isException)
    }

    @Test(
        "Reads all forms of a proxy address",
        arguments: [
            ("http://proxy:3128", "http://proxy:3128"), ("proxy:3128", "http://proxy:3128"),
            ("http://proxy/", "http://proxy:80"),
            ("http://proxy:443", "http://proxy:443"), ("socks5://10.0.0.1", "socks5://10.0.0.1:1080"),
            ("SOCKS5H://proxy:9050", "socks5://proxy:9050"), ("http://[::1]:3128", "http://[::1]:3128"),
            ("http://jane:s%40cret@proxy:3128", "http://…@proxy:3128"),
        ])
    func proxies(text: String, shown: String) throws {
        #expect(try ProxyAddress(text).description == shown)
    }

    @Test("Hides the user name and the password of a proxy")
    func credentials() throws {
        let proxy = try ProxyAddress("http://jane:s%40cret%3A@proxy:3128")
        #expect(proxy.credentials == Secret("jane:s@cret:"))
        #expect(try ProxyAddress("http://jane@proxy:3128").credentials == Secret("jane:"))
        let settings = environment(["HTTPS_PROXY": "http://jane:s%40cret@proxy:3128"])
            .settings(for: try ServiceURL("https://auth.example"))
        #expect(!"\(settings)".contains("cret"))
        #expect(!"\(settings)".contains("jane"))
    }

    @Test(
        "Reports an invalid proxy and keeps the account",
        arguments: [
            "https://proxy:3128", "ftp://proxy", "http://", "http://proxy:port", "http://proxy/path", "a b",
            "http://%zz@p", "socks5://jane:canary@proxy", "jane:canary@http://proxy:3128",
        ])
    func badProxy(_ text: String) async throws {
        let transport = HTTPTransport(environment: environment(["HTTPS_PROXY": text]))
        let authority = try OAuthAuthority.test("https://auth.example", transport: transport)
        let thrown = await asyncFailure { try await authority.verify(account(at: "https://auth.example")) }
        guard case .misconfigured(let problem)? = thrown else { throw try #require(thrown) }
        #expect(problem.hasPrefix("HTTPS_PROXY "))
        #expect(!problem.contains("canary"))
        #expect(!String(reflecting: authority).contains("canary"))
        #expect(authority.networkSettings.map(\.problem) == [problem])
        // Requests to this machine do not use the proxy.
        try await LoopbackServer.run { _, _ in
            .json(#"{"sub":"248289761001"}"#)
        } _: { server in
            let local = try OAuthAuthority.test(
                server.address, endpoints: .all(at: server.address), transport: transport)
            #expect(try await local.verify(account(at: server.address)).id == "248289761001")
        }
    }

    @Test("Describes the effect of each proxy and certificate variable")
    func settings() throws {
        let environment = environment([
            "HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "intra.example", "SSL_CERT_FILE": "/nowhere/ca.pem",
        ])
        let settings = environment.settings(for: try ServiceURL("https://auth.example"))
        #expect(settings.map(\.variable) == ["HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE"])
        #expect(settings.map(\.value) == ["http://proxy:3128", "intra.example", "/nowhere/ca.pem"])
        #expect(settings[0].effect == "used for auth.example")
        #expect(
            settings[2].problem
                == "SSL_CERT_FILE names /nowhere/ca.pem, which is missing: set SSL_CERT_FILE to a file with certificates, or unset it"
        )
        let excepted = environment.settings(for: try ServiceURL("https://x.intra.example"))
        #expect(excepted[0].effect == "not used: NO_PROXY names x.intra.example")
        #expect(self.environment([:]).settings(for: try ServiceURL("https://auth.example")).isEmpty)
    }

    @Test("Reports a missing certificate file, and trusts no other certificates")
    func missingCertificates() async throws {
        let transport = HTTPTransport(environment: environment(["SSL_CERT_FILE": "/nowhere/ca.pem"]))
        let authority = try OAuthAuthority.test("https://localhost:1", transport: transport)
        let thrown = await asyncFailure { try await authority.verify(account(at: "https://localhost:1")) }
        #expect(
            thrown
                == .untrustedTLS(
                    "SSL_CERT_FILE names /nowhere/ca.pem, which is missing: set SSL_CERT_FILE to a file with certificates, or unset it"
                ))
    }
}
