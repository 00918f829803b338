import Testing

@testable import auth_server

@Suite("Broken connections")
struct DisconnectionTests {
    private func set(_ api: API, _ fault: String) async throws {
        let response = try await api.post("/control/faults", json: #"{"faults":[\#(fault)]}"#)
        try #require(response.status == 200, "\(response.body)")
    }

    private func refresh(_ token: String, port: Int) async throws -> String {
        try await RawConnection.token(port: port, "grant_type=refresh_token&refresh_token=\(token)")
    }

    @Test("A fault can drop the connection before the request is carried out")
    func before() async throws {
        try await TestServer().listen { api, port in
            let tokens = try await api.signIn()
            try await set(api, #"{"path":"/oauth/token","disconnect":"before","times":1}"#)
            #expect(try await refresh(tokens.refresh, port: port) == "")
            #expect(try await api.count("refreshes") == 1)
            #expect(try await api.count("rotations") == 0)
            #expect(try await api.refresh(tokens.refresh).status == 200)
        }
    }

    @Test("A fault can drop the connection after the request is carried out")
    func afterHandler() async throws {
        try await TestServer().listen { api, port in
            let tokens = try await api.signIn()
            try await set(api, #"{"path":"/oauth/token","disconnect":"before","afterHandler":true,"times":1}"#)
            #expect(try await refresh(tokens.refresh, port: port) == "")
            #expect(try await api.count("rotations") == 1)
        }
    }

    @Test("A garbled fault sends bytes that are not HTTP")
    func garbled() async throws {
        try await TestServer().listen { api, port in
            try await set(api, #"{"path":"/device","disconnect":"garbled","times":1}"#)
            let bytes = try await RawConnection.get(port: port, "/device")
            #expect(bytes == "\u{1}\u{2}\u{3} this is not HTTP\r\n\r\n")
            #expect(try await api.get("/device").status == 200)
        }
    }

    @Test("A truncated fault announces more bytes than it sends")
    func truncated() async throws {
        try await TestServer().listen { api, port in
            try await set(api, #"{"path":"/device","disconnect":"truncated","body":"{\"sub\":","times":1}"#)
            let bytes = try await RawConnection.get(port: port, "/device")
            #expect(bytes.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(bytes.contains("\r\nContent-Length: 71\r\n"))
            #expect(bytes.hasSuffix("\r\n\r\n{\"sub\":"))
        }
    }

    @Test("A truncated fault with afterHandler cuts the real response")
    func truncatedAfterHandler() async throws {
        try await TestServer().listen { api, port in
            let tokens = try await api.signIn()
            try await set(api, #"{"path":"/oauth/token","disconnect":"truncated","afterHandler":true,"times":1}"#)
            let bytes = try await refresh(tokens.refresh, port: port)
            let parts = bytes.split(separator: "\r\n\r\n", maxSplits: 1)
            try #require(parts.count == 2, "\(bytes)")
            #expect(parts[1].hasPrefix(#"{"access_token":"#))
            #expect(parts[0].contains("Content-Length: \(parts[1].utf8.count + 64)"))
            #expect(try await api.count("rotations") == 1)
        }
    }

    @Test("A request without a response is logged without a status")
    func logsWithoutStatus() async throws {
        try await TestServer().listen { api, port in
            try await set(api, #"{"path":"/device","disconnect":"before","times":1}"#)
            _ = try await RawConnection.get(port: port, "/device")
            #expect(try await api.get("/control/log").json["requests"] == [["method": "GET", "path": "/device"]])
        }
    }
}
