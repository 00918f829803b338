import AccountHTTP
import AccountKit
import AccountTesting
import Testing

/// The part of the quick start that differs from the tool of the README: the test authorization server.
enum QuickStart {
    static func authority(_ timeout: Duration = .seconds(5)) throws(AccountError) -> any AccountAuthority {
        // snippet.authority
        try OAuthAuthority(issuer: "http://127.0.0.1:8080", clientID: "account-cli", timeout: timeout)
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

    @Test func `Decodes the user of the test server`() async throws {
        let store = try await AccountStore.testing(signedIn: .fresh(at: ManualClock().now))
        let transport = ScriptedTransport([.json(#"{"sub": "u-1", "email": "alice@example.org"}"#)])
        let api = try AuthenticatedClient(
            origin: "http://127.0.0.1:8080", store: store, authority: ScriptedAuthority(), transport: transport.send)
        #expect(try await QuickStart.email(api) == "alice@example.org")
    }
}
