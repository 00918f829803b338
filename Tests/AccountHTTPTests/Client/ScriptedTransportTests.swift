import AccountHTTP
import AccountKit
import AccountTesting
import FoundationEssentials
import HTTPTypes
import Testing

/// An app's own tests of its API calls, without a server or a network.
struct ScriptedTransportTests {
    private struct Gist: Codable, Equatable {
        var id: Int
    }

    private let clock = ManualClock()

    private func api(_ transport: ScriptedTransport) async throws -> AuthenticatedClient {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        return try AuthenticatedClient(
            origin: "https://api.example.com", store: store, authority: ScriptedAuthority(clock: clock),
            transport: transport.send)
    }

    @Test func `Sends JSON, and returns an empty response from an empty script`() async throws {
        let transport = ScriptedTransport()
        let api = try await api(transport)
        #expect(try await api.post("/gists", Gist(id: 7)).head.status == .noContent)
        _ = try await api.put("/gists/7", Gist(id: 7))
        _ = try await api.patch("/gists/7", Gist(id: 7))
        _ = try await api.delete("/gists/7")
        #expect(transport.requests.map(\.head.method) == [.post, .put, .patch, .delete])
        #expect(transport.requests.map { $0.body.map { String(decoding: $0, as: UTF8.self) } }.first == #"{"id":7}"#)
        #expect(transport.requests.last?.body == nil)
        #expect(transport.requests.first?.head.headerFields[.contentType] == "application/json")
    }

    @Test(
        arguments: [
            (.json(#"{"message":"no such gist"}"#, status: .notFound), "404: no such gist"),
            (.json(#"{"title":"Out","detail":"for\u001b[2J lunch\n"}"#, status: 503), "503: for[2J lunch"),
            (.json(#"{"error":{"code":403,"message":"not yours"}}"#, status: 403), "403: not yours"),
            (.json(#"{"error":"invalid_request"}"#, status: 400), "400: invalid_request"),
            (.json(#"{"message":"sent was access-1"}"#, status: 400), "400"), (.json("[]", status: 400), "400"),
            (
                .response(HTTPResponse(status: 404, headerFields: [.contentType: "text/plain"]), .init("gone".utf8)),
                "404: gone"
            ),
            (.status(302), "302"),
        ] as [(ScriptedTransport.Response, String)])
    func `Throws an error with the service's message for a failure status`(
        response: ScriptedTransport.Response, expected: String
    ) async throws {
        let transport = ScriptedTransport([response])
        let response = try await api(transport).get("/gists/1")
        let error = #expect(throws: AccountError.self) { try response.decoded(as: Gist.self) }
        #expect(error?.message == "https://api.example.com responded with status \(expected)")
    }

    @Test(
        arguments: [
            (302, .requestRefused), (400, .requestRefused), (404, .requestRefused), (422, .requestRefused),
            (408, .serviceUnavailable), (425, .serviceUnavailable), (429, .serviceUnavailable),
            (500, .serviceUnavailable),
            (503, .serviceUnavailable),
        ] as [(Int, AccountError.Code)])
    func `Distinguishes a refusal from a failure that may pass`(status: Int, code: AccountError.Code) async throws {
        let transport = ScriptedTransport([.json("{}", status: .init(code: status))])
        let response = try await api(transport).get("/gists/1")
        expectAccountError(code) { try response.decoded(as: Gist.self) }
    }

    /// Some gateways compress each response, although the request does not allow that.
    @Test(arguments: [("application/json; charset=utf-8", true), (nil, true), ("application/x-tar", false)])
    func `Decompresses a text that a gateway has compressed, but no file`(type: String?, isText: Bool) async throws {
        let compressed = try #require(Data(base64Encoded: "H4sIAAAAAAACA6tWykxRsjKvBQBDXwcSCAAAAA=="))
        var head = HTTPResponse(status: .ok, headerFields: [.contentEncoding: "gzip"])
        head.headerFields[.contentType] = type
        let plain = Data(#"{"id":7}"#.utf8)
        let transport = ScriptedTransport([.response(head, compressed), .response(head, plain)])
        let api = try await api(transport)
        let response = try await api.get("/gists/7")
        #expect(response.body == (isText ? plain : compressed))
        #expect(response.head.headerFields[.contentEncoding] == (isText ? nil : "gzip"))
        // A label alone changes nothing.
        #expect(try await api.get("/gists/7").body == plain)
    }

    @Test func `Throws an error for an offline transport and keeps the account`() async throws {
        let transport = ScriptedTransport([.offline, .json(#"{"id":1}"#)])
        let api = try await api(transport)
        let error = await expectAccountError(.serviceUnavailable) { try await api.get("/gists/1") }
        #expect(error?.description.contains("you are still signed in") == true)
        #expect(try await api.get("/gists/1").decoded(as: Gist.self) == Gist(id: 1))
    }

    @Test func `Refuses a response from a custom transport that is too long`() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        let api = try AuthenticatedClient(
            origin: "https://api.example.com", store: store, authority: ScriptedAuthority(clock: clock),
            maximumResponseLength: 3, transport: ScriptedTransport([.json("1234")]).send)
        await expectAccountError(.requestRefused) { try await api.get("/") }
    }
}
