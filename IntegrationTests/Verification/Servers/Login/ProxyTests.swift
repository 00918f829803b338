@testable import EndToEndSupport
import Testing

/// `HTTPS_PROXY`, `NO_PROXY` and `SSL_CERT_FILE`, with a proxy that is not part of this project, and a service that is
/// reachable only through the proxy.
@Suite(.queued)
struct ProxyTests {
    private struct EnvironmentReport: Decodable {
        let environment: [String: String]?
    }

    /// The environment settings in a command's JSON output.
    private func environment(_ outcome: Outcome) throws -> [String: String] {
        try outcome.document(EnvironmentReport.self).environment ?? [:]
    }

    /// Expects that the session is unchanged, that no request reached the service, and that the command reports the
    /// reason.
    private func expectKept(
        _ user: ProxiedUser, with variables: [String: String?], reason: String, words: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await user.clearLog()
        let before = try user.container.files().filter { $0.key.hasPrefix("container/") }
        let json = try await user("whoami", "--max-age", "0", "--json", with: variables)
        #expect(json.exitCode == 0, "\(json)", sourceLocation: sourceLocation)
        let report = try json.document()
        #expect(report.state == "unverified", sourceLocation: sourceLocation)
        #expect(report.reason == reason, "\(json)", sourceLocation: sourceLocation)
        #expect(report.account?.username == "alice", sourceLocation: sourceLocation)
        let text = try await user("whoami", "--max-age", "0", with: variables)
        #expect(text.output == "alice\n", sourceLocation: sourceLocation)
        #expect(words.isEmpty || text.errors.contains(words), "\(text)", sourceLocation: sourceLocation)
        let verify = try await user("whoami", "--verify", with: variables)
        #expect(verify.exitCode == 69, "\(verify)", sourceLocation: sourceLocation)
        let refresh = try await user("refresh", with: variables)
        #expect(refresh.exitCode == 69, "\(refresh)", sourceLocation: sourceLocation)
        let after = try user.container.files().filter { $0.key.hasPrefix("container/") }
        #expect(after == before, sourceLocation: sourceLocation)
        #expect(try await user.log().requests == [], sourceLocation: sourceLocation)
        // The session works again without the settings.
        let later = try await user("whoami", "--verify")
        #expect(later.exitCode == 0, "\(later)", sourceLocation: sourceLocation)
    }

    @Test(arguments: ["HTTPS_PROXY", "https_proxy"])
    func `Sends all requests to the service through the proxy`(variable: String) async throws {
        var issuer = ""
        let requests = try await ProxiedUser.run { user in
            issuer = user.issuer
            // If both variables are set, the lower-case variable takes precedence, so the other address must stay unused.
            let address = try #require(user.account.environment["HTTPS_PROXY"])
            var variables: [String: String?] = ["HTTPS_PROXY": "http://\(ProxyServer.unusedAuthority())"]
            variables[variable] = address
            let signedIn = try await user.login(with: variables)
            try #require(signedIn.exitCode == 0, "\(signedIn)")

            let verified = try await user("whoami", "--verify", with: variables)
            #expect(verified.exitCode == 0, "\(verified)")
            #expect(verified.output == "alice\n")

            try await user.expireTokens()
            let refreshed = try await user("whoami", "--max-age", "0", with: variables)
            #expect(refreshed.exitCode == 0, "\(refreshed)")
            #expect(refreshed.errors == "")
            #expect(try await user("refresh", with: variables).exitCode == 0)
            var log = try await user.log()
            #expect(log["refreshes"] == 2)
            #expect(log["reuseAlarms"] == 0)

            let signedOut = try await user("logout", with: variables)
            #expect(signedOut.exitCode == 0, "\(signedOut)")
            log = try await user.log()
            #expect(log["/oauth/revoke"] >= 1)
        }
        // The proxy sees only the host and port. Each of the five runs connects.
        #expect(requests.count >= 5)
        #expect(requests.allSatisfy { $0 == "CONNECT " + issuer.dropFirst("https://".count) }, "\(requests)")
    }

    @Test func `Keeps the account if the proxy is unreachable or refuses requests`() async throws {
        try await ProxiedUser.run { user in
            try await user.signIn()
            try await expectKept(
                user, with: ["HTTPS_PROXY": "http://\(ProxyServer.unusedAuthority())"], reason: "offline")
            let told = try await user(
                "whoami", "--max-age", "0", with: ["HTTPS_PROXY": "http://\(ProxyServer.unusedAuthority())"])
            #expect(told.errors.contains("did not open a connection"), "\(told)")
            let refusing = try await ProxyServer.run(["ConnectPort 1"], in: user.container) { proxy in
                try await expectKept(user, with: ["HTTPS_PROXY": proxy.authority], reason: "offline")
            }
            #expect(refusing.count == 4)
        }
    }

    @Test func `Sends no password if the certificate is for the proxy's address`() async throws {
        try await ProxiedUser.run(subject: "IP:127.0.0.1") { user in
            let refused = try await user.login()
            #expect(refused.exitCode == 69, "\(refused)")
            #expect(refused.errors.contains("is for another host name"), "\(refused)")
            #expect(!user.container.exists(user.container.archive))
        }
    }

    @Test func `Authenticates to the proxy, and wrong credentials keep the account`() async throws {
        try await ProxiedUser.run(proxy: ["BasicAuth alice canary-7f3a"], credentials: "alice:canary%2D7f3a") { user in
            let address = try #require(user.account.environment["HTTPS_PROXY"])
            let wrong = address.replacing("canary%2D7f3a", with: "canary-wrong")
            let none = address.replacing("alice:canary%2D7f3a@", with: "")

            for address in [wrong, none] {
                let refused = try await user.login(with: ["HTTPS_PROXY": address])
                #expect(refused.exitCode == 69, "\(refused)")
                #expect(!refused.errors.contains("canary"))
                #expect(!user.container.exists(user.container.archive))
            }
            try await user.signIn()
            try await expectKept(
                user, with: ["HTTPS_PROXY": none], reason: "proxyAuthenticationRequired",
                words: "a proxy requires a user name and password")
            // This proxy responds to a wrong password with 401. A 401 from the service cannot be the response to a
            // CONNECT request.
            try await expectKept(user, with: ["HTTPS_PROXY": wrong], reason: "offline")
        }
    }

    @Test func `status and doctor show the proxy settings without the password`() async throws {
        try await ProxiedUser.run(proxy: ["BasicAuth alice canary7f3a"], credentials: "alice:canary7f3a") { user in
            try await user.signIn()
            let variables = ["NO_PROXY": "example.com"]
            let address = try #require(user.account.environment["HTTPS_PROXY"])
            let shown = "http://…@" + address.drop { $0 != "@" }.dropFirst()

            let status = try await user("status", with: variables)
            #expect(status.exitCode == 0, "\(status)")
            #expect(status.output.contains("HTTPS_PROXY=\(shown) (used for "), "\(status)")
            #expect(status.output.contains("NO_PROXY=example.com"))
            #expect(status.output.contains("SSL_CERT_FILE=\(user.certificate.path)"))
            let doctor = try await user("doctor", with: variables)
            #expect(doctor.exitCode == 0, "\(doctor)")
            #expect(doctor.output.contains("\n  HTTPS_PROXY=\(shown)"), "\(doctor)")
            let json = [
                try await user("status", "--json", with: variables),
                try await user("doctor", "--json", with: variables),
            ]
            for outcome in json {
                let environment = try environment(outcome)
                #expect(environment["HTTPS_PROXY"] == shown)
                #expect(environment["NO_PROXY"] == "example.com")
                #expect(environment["SSL_CERT_FILE"] == user.certificate.path)
            }
            let excepted = try await user("status", with: ["NO_PROXY": "auth.test"])
            #expect(excepted.output.contains("not used: NO_PROXY names auth.test"), "\(excepted)")
            let invalid = try await user(
                "status", "--json", with: ["HTTPS_PROXY": "https://alice:canary7f3a@127.0.0.1:8888"])
            #expect(try environment(invalid)["HTTPS_PROXY"] == "not an address")
            for outcome in [status, doctor, excepted, invalid] + json {
                #expect(!(outcome.output + outcome.errors).contains("canary"), "\(outcome)")
            }
            // `doctor` sends only one request, without a token, to read the service's clock.
            let paths = Set(try await user.log().requests.map(\.path))
            #expect(paths == ["/.well-known/openid-configuration"])
        }
    }

    @Test func `Keeps the account if SSL_CERT_FILE is missing or wrong`() async throws {
        try await ProxiedUser.run { user in
            try await user.signIn()
            let missing = user.container.path("missing.pem")
            try await expectKept(
                user, with: ["SSL_CERT_FILE": missing], reason: "untrustedTLS", words: "SSL_CERT_FILE")
            let doctor = try await user("doctor", with: ["SSL_CERT_FILE": missing])
            #expect(doctor.exitCode == 78, "\(doctor)")
            #expect(doctor.output.contains("problem: SSL_CERT_FILE names \(missing)"), "\(doctor)")

            let other = try await Certificate.make(for: "DNS:\(ProxyServer.onlyName)", in: user.container)
            for file in [other.path, "/dev/null"] {
                try await expectKept(user, with: ["SSL_CERT_FILE": file], reason: "untrustedTLS")
            }
            // The system's certificates do not include the service's certificate, either.
            try await expectKept(user, with: ["SSL_CERT_FILE": nil], reason: "untrustedTLS")
        }
    }
}
