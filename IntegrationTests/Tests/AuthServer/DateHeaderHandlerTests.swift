import Testing

@testable import auth_server

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Date field")
struct DateHeaderHandlerTests {
    @Test("Every response has one Date field with the server's time", arguments: ["/device", "/nowhere"])
    func followsTheClock(path: String) async throws {
        try await TestServer().listen { api, port in
            func dates() async throws -> [Substring] {
                let response = try await RawConnection.get(port: port, path)
                return response.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("date:") }
            }
            #expect(try await dates() == ["Date: Fri, 15 Jan 2027 08:00:00 GMT"])
            _ = try await api.post("/control/clock", json: #"{"offsetSeconds":-86400}"#)
            #expect(try await dates() == ["Date: Thu, 14 Jan 2027 08:00:00 GMT"])
        }
    }

    @Test("The response of a fault has a Date field")
    func faultsHaveIt() async throws {
        try await TestServer().listen { api, port in
            _ = try await api.post("/control/faults", json: #"{"faults":[{"path":"*","status":503}]}"#)
            let response = try await RawConnection.get(port: port, "/device")
            #expect(response.hasPrefix("HTTP/1.1 503 "))
            #expect(response.contains("\r\nDate: Fri, 15 Jan 2027 08:00:00 GMT\r\n"))
        }
    }

    @Test("The date format matches the example of RFC 9110")
    func formatsDates() {
        #expect(Date(timeIntervalSince1970: 784_111_777).httpFormat == "Sun, 06 Nov 1994 08:49:37 GMT")
    }
}
