import AccountKit
import AccountTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import AccountHTTP

import struct Foundation.URL

/// The token for requests that another HTTP client sends.
struct MiddlewareTests {
    /// Records the requests, and returns responses.
    private actor Sender {
        private(set) var sent: [HTTPRequest] = []
        private let taken: Set<String>
        private let refusal: HTTPFields

        init(
            taking tokens: String..., refusal: HTTPFields = [.wwwAuthenticate: #"Bearer error="invalid_token""#]
        ) {
            taken = Set(tokens.map { "Bearer " + $0 })
            self.refusal = refusal
        }

        func send(_ request: HTTPRequest) -> (HTTPResponse, String) {
            sent.append(request)
            guard taken.contains(request.headerFields[.authorization] ?? "") else {
                return (HTTPResponse(status: .unauthorized, headerFields: refusal), "why")
            }
            return (HTTPResponse(status: .ok), "body of \(sent.count)")
        }

        var tokens: [String?] { sent.map { $0.headerFields[.authorization] } }
    }

    private static let now = ManualClock().now
    private let store: AccountStore
    private let authority = ScriptedAuthority()
    private let client: AuthenticatedClient

    init() async throws {
        let old = Account.testing(at: Self.now.addingTimeInterval(-3600), expiringIn: .seconds(7200))
        store = try await .inMemory(signedIn: old)
        client = try AuthenticatedClient(origin: "https://api.example.com", store: store, authority: authority)
    }

    private let request = HTTPRequest(
        method: .post, scheme: nil, authority: nil, path: "/notes", headerFields: [.contentType: "application/json"])

    private func authorize(
        _ sender: Sender, _ request: HTTPRequest? = nil, at base: String = "https://api.example.com/v1",
        canBeRepeated: Bool = true
    ) async throws -> (head: HTTPResponse, body: String) {
        try await client.authorize(
            request ?? self.request, at: try #require(URL(string: base)), canBeRepeated: canBeRepeated
        ) {
            await sender.send($0)
        } reading: {
            (Data($0.utf8), $0 + ", read")
        }
    }

    @Test func `Adds the token to a request of another client, and keeps the response`() async throws {
        let sender = Sender(taking: "access-1")
        let response = try await authorize(sender)
        #expect(response.head.status == .ok && response.body == "body of 1")
        let sent = try #require(await sender.sent.first)
        #expect(sent.headerFields[.authorization] == "Bearer access-1")
        #expect(sent.headerFields[.contentType] == "application/json" && sent.path == "/notes")
        #expect(authority.requests == [])
    }

    @Test func `Refreshes another client's refused token once and resends the request`() async throws {
        let sender = Sender(taking: "access-2")
        #expect(try await authorize(sender).body == "body of 2")
        #expect(await sender.tokens == ["Bearer access-1", "Bearer access-2"])
        #expect(authority.requests == [.refresh])

        // If the API refuses the new token too, the middleware spends no other refresh token.
        let never = Sender(taking: "none")
        for count in [2, 3] {
            let response = try await authorize(never)
            #expect(response.head.status == .unauthorized && response.body == "why, read")
            #expect(await never.sent.count == count)
        }
        #expect(authority.requests == [.refresh, .refresh])
    }

    @Test(arguments: [[:], [.wwwAuthenticate: "Basic realm=x"], [.wwwAuthenticate: "Bearer"]] as [HTTPFields])
    func `Refreshes another client's token that is refused without a reason`(refusal: HTTPFields) async throws {
        let sender = Sender(taking: "access-2", refusal: refusal)
        #expect(try await authorize(sender).head.status == .ok)
        #expect(authority.requests == [.refresh])
    }

    @Test func `Does not resend a one-time request, and refreshes before the next one`() async throws {
        let sender = Sender(taking: "access-2")
        #expect(try await authorize(sender, canBeRepeated: false).head.status == .unauthorized)
        #expect(await sender.sent.count == 1)
        #expect(try await authorize(sender, canBeRepeated: false).head.status == .ok)
        #expect(authority.requests == [.refresh])
    }

    @Test(arguments: [
        "https://api.example.com.evil.example/v1", "https://evil@api.example.com:8443/", "http://api.example.com/v1",
        "https://api.example.com:8443",
    ])
    func `Sends neither another client's request nor its token to another origin`(base: String) async throws {
        let sender = Sender(taking: "access-1")
        await expectAccountError(.invalidArgument) { try await authorize(sender, at: base) }
        #expect(await sender.sent.isEmpty)
    }

    @Test func `Refuses a request with another host or an Authorization field`() async throws {
        let sender = Sender(taking: "access-1")
        var request = request
        (request.scheme, request.authority) = ("https", "evil.example")
        await expectAccountError(.invalidArgument) { try await authorize(sender, request) }
        request = self.request
        request.headerFields[.authorization] = "Bearer mine"
        await expectAccountError(.invalidArgument) { try await authorize(sender, request) }
        #expect(await sender.sent.isEmpty)
    }

    @Test func `Rethrows an error of another HTTP client and keeps the session`() async throws {
        struct Offline: Error {}
        await #expect(throws: Offline.self) {
            _ = try await client.authorize(
                request, at: try #require(URL(string: "https://api.example.com")), canBeRepeated: true
            ) { _ -> (HTTPResponse, Void) in
                throw Offline()
            } reading: {
                (Data(), $0)
            }
        }
        #expect(store.account != nil)
    }
}
