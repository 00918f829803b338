import AccountHTTP
import AccountKit
@testable import EndToEndSupport
import Foundation
import HTTPTypes
import Testing

/// Many tasks of one process that share a session, as in an app. `SimultaneousRefreshTests` and `SingleFlightTests` test
/// how they share a refresh, and `AuthenticatedClientTests` where the client sends the token.
@Suite(.queued)
struct SharedSessionTests {
    @Test func `Hundreds of tasks with an expired token refresh once`() async throws {
        try await SignedInUser.run { user in
            let store = AccountStore(container: try AppContainer(root: user.container.home, identifier: "account"))
            let authority = try OAuthAuthority(
                issuer: user.server.issuer, clientID: "account-cli", timeout: .seconds(60))
            let client = try AuthenticatedClient(
                origin: user.server.issuer, store: store, authority: authority, timeout: .seconds(60))
            // Backdates the token by an hour, since AccountKit does not refresh a token that was just issued.
            try await store.update { $0.credentials.issuedAt -= 3600 }
            try await user.server.expireTokens()
            try await withThrowingTaskGroup { group in
                for _ in 1...300 { group.addTask { try await client.get("/oauth/userinfo").head.status } }
                for try await status in group { #expect(status == 200) }
            }
            let log = try await user.server.log()
            #expect(log["refreshes"] == 1)
            #expect(log["rotations"] == 1)
            #expect(log["reuseAlarms"] == 0)
        }
    }
}
