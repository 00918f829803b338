import ArgumentParser
import Testing

@testable import auth_server

/// Only programs on the same machine reach the server, and no web page does.
@Suite struct LoopbackTests {
    @Test func `Listens only at a host of the loopback interface`() {
        for host in ["localhost", "127.0.0.1", "127.8.9.255", "::1", "[::1]"] {
            #expect(throws: Never.self) { try AuthServer.parse(["--host", host]) }
        }
        for host in [
            "", "0.0.0.0", "::", "192.168.0.1", "128.0.0.1", "127.0.0", "127.0.0.256", "127.0.0.1.example.org",
            "127.0.0.+1", "example.org", "localhost.example.org", "[::1",
        ] {
            #expect(throws: (any Error).self, "\(host)") { try AuthServer.parse(["--host", host]) }
        }
    }

    @Test func `Accepts only its own names in an origin`() {
        for (authority, name) in [
            ("127.0.0.1:8080", nil), ("[::1]:443", nil), ("127.0.0.1", "auth.test"), ("auth.test:443", "auth.test"),
        ] as [(String, String?)] {
            #expect(Origin(authority: authority, usesTLS: true, name: name)?.text == "https://" + authority)
        }
        for authority in [
            "", "evil.example", "evil.example:8080", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "::1", "::1:80",
            "a.auth.test", "auth.test.example", "test", "auth.test:x",
        ] {
            #expect(Origin(authority: authority, usesTLS: false, name: "auth.test") == nil, "\(authority)")
        }
        #expect(Origin(authority: "auth.test", usesTLS: false) == nil)
    }

    @Test(arguments: ["/device", "/control/log"])
    func `Rejects a request for another host`(path: String) async throws {
        try await TestServer().listen { _, port in
            let request = "GET \(path) HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
            let response = try await RawConnection.exchange(port: port, request)
            #expect(response.hasPrefix("HTTP/1.1 421 "))
        }
    }
}
