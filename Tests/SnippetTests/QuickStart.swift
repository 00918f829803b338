import AccountHTTP
import AccountKit
import AccountTesting
import Logging
import Testing

/// The part of the quick start that differs from the tool of the README: the test authorization server.
enum QuickStart {
    static func authority(_ timeout: Duration = .seconds(5)) throws(AccountError) -> any AccountAuthority {
        // snippet.authority
        try OAuthAuthority(issuer: "http://127.0.0.1:8080", clientID: "account-cli", timeout: timeout)
        // snippet.end
    }

    static func service(_ timeout: Duration = .seconds(5), _ logger: Logger? = nil) throws(AccountError)
        -> any AccountAuthority
    {
        // snippet.service
        try OAuthAuthority(issuer: "https://login.example.com", clientID: "notes-cli", timeout: timeout, logger: logger)
        // snippet.end
    }

    static func email(_ api: AuthenticatedClient) async throws -> String {
        // snippet.request
        let user: User = try await api.get("/oauth/userinfo").decoded()
        print("Your address is \(user.email).")
        // snippet.end
        return user.email
    }
}

// snippet.user
struct User: Decodable {
    var email: String
}
// snippet.end

struct QuickStartTests {
    @Test func `Configures an authority for the test authorization server`() throws {
        #expect(try QuickStart.authority().accountIssuer == "http://127.0.0.1:8080")
    }

    @Test func `Configures an authority for a service with a registered client`() throws {
        #expect(try QuickStart.service().accountIssuer == "https://login.example.com")
    }

    @Test func `Decodes the user of the test server`() async throws {
        let store = try await AccountStore.testing(signedIn: .fresh(at: ManualClock().now))
        let transport = ScriptedTransport([.json(#"{"sub": "u-1", "email": "alice@example.org"}"#)])
        let api = try AuthenticatedClient(
            origin: "http://127.0.0.1:8080", store: store, authority: ScriptedAuthority(), transport: transport.send)
        #expect(try await QuickStart.email(api) == "alice@example.org")
    }
}
