import AccountHTTP
import AccountKit
import AccountTesting
import Foundation
import HTTPTypes
import Testing

/// The examples of the article about signing in by URL. A test below calls each of them.
enum SignInByURL {
    static func authority(_ container: AppContainer) throws -> OAuthAuthority {
        // snippet.authority
        let authority = try OAuthAuthority(
            api: "https://notes.example.com/api",
            client: OAuthClient(registeringIn: container, name: "Notes"))
        // snippet.end
        return authority
    }

    static func client(_ container: AppContainer) -> OAuthClient {
        // snippet.client
        let client = OAuthClient(
            metadataURL: "https://notes.example.com/client.json", registeringIn: container, name: "Notes")
        // snippet.end
        return client
    }

    static func notes(_ api: AuthenticatedClient) async throws -> String {
        // snippet.requirement
        do {
            return try await api.get("/notes").decoded()
        } catch let error as AccountError where error.code == .insufficientScope {
            let missing = error.accessRequirement?.scopes ?? []
            return "Sign in again for \(missing.joined(separator: ", "))."
        }
        // snippet.end
    }
}

struct SignInByURLTests {
    @Test func `Creating the authority of an API sends nothing`() throws {
        let container = try AppContainer(root: "/nonexistent", identifier: "com.example.notes")
        let authority = try SignInByURL.authority(container)
        #expect(authority.namingAPI == "https://notes.example.com/api")
        #expect(authority.issuer == nil)
        let client = SignInByURL.client(container)
        #expect(client.metadataURL == "https://notes.example.com/client.json")
    }

    @Test func `An API that requires more scopes names them`() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        let challenge = #"Bearer error="insufficient_scope", scope="notes:read""#
        let head = HTTPResponse(status: .forbidden, headerFields: [.wwwAuthenticate: challenge])
        let transport = ScriptedTransport([.response(head, Data())])
        let api = try AuthenticatedClient(
            origin: "https://notes.example.com", store: store, authority: ScriptedAuthority(),
            transport: transport.send)
        #expect(try await SignInByURL.notes(api) == "Sign in again for notes:read.")
    }
}
