import Testing

@testable import auth_server

@Suite("Loopback interface")
struct LoopbackTests {
    @Test("LoopbackHost accepts loopback hosts", arguments: ["localhost", "127.0.0.1", "127.8.9.255", "::1", "[::1]"])
    func accepts(host: String) {
        #expect(LoopbackHost(host) != nil)
    }

    @Test(
        "LoopbackHost rejects every other host",
        arguments: [
            "", "0.0.0.0", "::", "192.168.0.1", "128.0.0.1", "127.0.0", "127.0.0.256", "127.0.0.1.example.org",
            "127.0.0.+1", "example.org", "localhost.example.org", "[::1",
        ]
    )
    func refuses(host: String) {
        #expect(LoopbackHost(host) == nil)
    }

    @Test("An origin consists of the scheme and the requested host")
    func origins() {
        #expect(Origin(authority: "127.0.0.1:8080", usesTLS: false)?.text == "http://127.0.0.1:8080")
        #expect(Origin(authority: "localhost", usesTLS: true)?.text == "https://localhost")
        #expect(Origin(authority: "[::1]:443", usesTLS: true)?.text == "https://[::1]:443")
        #expect(Origin(authority: "[::1]", usesTLS: false)?.text == "http://[::1]")
    }

    @Test(
        "A request for a host outside the loopback interface has no origin",
        arguments: [
            "", "evil.example", "evil.example:8080", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "::1", "::1:80",
        ]
    )
    func refusesAuthorities(authority: String) {
        #expect(Origin(authority: authority, usesTLS: false) == nil)
    }

    @Test("A server with a name accepts origins with that name")
    func otherName() {
        #expect(Origin(authority: "auth.test:443", usesTLS: true, name: "auth.test")?.text == "https://auth.test:443")
        #expect(Origin(authority: "auth.test", usesTLS: false, name: "auth.test")?.text == "http://auth.test")
        #expect(Origin(authority: "127.0.0.1", usesTLS: false, name: "auth.test")?.text == "http://127.0.0.1")
        for authority in ["a.auth.test", "auth.test.example", "test", "auth.test:x", ""] {
            #expect(Origin(authority: authority, usesTLS: false, name: "auth.test") == nil)
        }
    }

    @Test("The server rejects requests for other hosts, even at control endpoints")
    func refusesRequests() async throws {
        try await TestServer().listen { _, port in
            for path in ["/device", "/control/log"] {
                let request = "GET \(path) HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
                let response = try await RawConnection.exchange(port: port, request)
                #expect(response.hasPrefix("HTTP/1.1 421 "))
            }
        }
    }
}
