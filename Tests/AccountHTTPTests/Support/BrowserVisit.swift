import Foundation
import Testing

@testable import AccountHTTP
@testable import AccountKit

/// The browser's side of a sign-in.
struct BrowserVisit: Sendable {
    let query: [String: String]
    let port: Int

    init(_ address: String) throws {
        let items = try #require(URLComponents(string: address)?.queryItems)
        query = Dictionary(items.map { ($0.name, $0.value ?? "") }) { _, last in last }
        port = try #require(URLComponents(string: query["redirect_uri"] ?? "")?.port)
    }

    var state: String { query["state"] ?? "" }

    /// Follows the redirect back from the service.
    func callBack(_ query: String, state: String? = nil) async throws -> RawClient.Response {
        try await RawClient.get("/callback?\(query)&state=\(state ?? self.state)", port: port)
    }

    func result() async throws -> RawClient.Response { try await RawClient.get("/done", port: port) }
}

extension BrowserSignIn {
    /// Performs all steps, like a store.
    func run() async throws -> Account {
        let result: Result<Account, any Error>
        do {
            try await waitForResponse()
            result = .success(try await account(with: credentials()))
        } catch {
            result = .failure(error)
        }
        await finish(with: result)
        return try result.get()
    }
}

extension OAuthAuthority {
    /// Begins a sign-in that waits a given time for the browser to fetch the result page.
    func beginBrowserSignIn(
        deliveryTime: Duration, lifetime: Duration = .seconds(600)
    ) async throws -> OAuthBrowserSignIn {
        try await service(receiving: nil).signIns.beginBrowserSignIn(deliveryTime: deliveryTime, lifetime: lifetime)
    }

    /// A service with an authorization endpoint.
    static func testBrowser(_ address: String) throws -> OAuthAuthority {
        try .test(
            address,
            endpoints: OAuthEndpoints(
                token: "\(address)/token", userInfo: "\(address)/userinfo", authorization: "\(address)/authorize"))
    }
}
