import AccountHTTP
import AccountKit
@testable import EndToEndSupport
import Foundation
import HTTPTypes
import Testing

/// Many tasks of one process that share a session, as in an app.
@Suite(.queued)
struct SharedSessionTests {
    /// The objects that an app keeps while it runs.
    private struct App {
        let server: ExampleServer
        /// The `account` command, with the same archive.
        let account: Tool
        let store: AccountStore
        let authority: OAuthAuthority
        let client: AuthenticatedClient
    }

    private func run(_ test: (App) async throws -> Void) async throws {
        try await SignedInUser.run { user in
            let store = AccountStore(container: try AppContainer(root: user.container.home, identifier: "account"))
            let authority = try OAuthAuthority(
                issuer: user.server.issuer, clientID: "account-cli", timeout: .seconds(60))
            let client = try AuthenticatedClient(
                origin: user.server.issuer, store: store, authority: authority, timeout: .seconds(60))
            // Backdates the token by an hour, since AccountKit does not refresh a token that was just issued.
            try await store.update { $0.credentials.issuedAt -= 3600 }
            try await test(
                App(
                    server: user.server, account: user.account, store: store, authority: authority, client: client))
        }
    }

    @Test func `A thousand tasks with an expired token refresh once`() async throws {
        try await run { app in
            try await app.server.expireTokens()
            try await withThrowingTaskGroup { group in
                for _ in 1...1000 { group.addTask { try await app.client.get("/oauth/userinfo").head.status } }
                for try await status in group { #expect(status == 200) }
            }
            let log = try await app.server.log()
            #expect(log["refreshes"] == 1)
            #expect(log["rotations"] == 1)
            #expect(log["reuseAlarms"] == 0)
        }
    }

    @Test func `A thousand tasks that require a longer validity share one refresh`() async throws {
        try await run { app in
            try await app.store.update { $0.credentials.expiresAt = Date() + 600 }
            try await withThrowingTaskGroup { group in
                for _ in 1...1000 {
                    group.addTask {
                        try await app.store.accessToken(
                            minimumValidity: .seconds(1200), timeout: nil, with: app.authority
                        ).reveal()
                    }
                }
                var tokens: Set<String> = []
                for try await token in group { tokens.insert(token) }
                #expect(tokens.count == 1)
            }
            let log = try await app.server.log()
            #expect(log["refreshes"] == 1)
            #expect(log["reuseAlarms"] == 0)
        }
    }

    @Test func `Cancelling one waiting task does not cancel the shared refresh`() async throws {
        try await run { app in
            let gate = try await app.server.hold(Fault(path: "/oauth/token", times: 1))
            let before = try #require(await app.store.load().account?.credentials.accessToken)
            let tasks = (1...3).map { _ in
                Task { try await app.store.refresh(with: app.authority).credentials.accessToken }
            }
            try await gate.waitUntilHeld()
            tasks[0].cancel()
            await #expect(throws: AccountError.self) { try await tasks[0].value }
            // The response has not arrived yet.
            #expect(await app.store.load().account?.credentials.accessToken == before)
            try await gate.open()
            let tokens = [try await tasks[1].value, try await tasks[2].value]
            #expect(tokens[0] == tokens[1])
            #expect(tokens[0] != before)
            #expect(await app.store.load().account?.credentials.accessToken == tokens[0])
            #expect(try await !app.account("status", "--json").output.contains("unfinishedRefreshAt"))
            #expect(try await app.server.log()["refreshes"] == 1)
        }
    }

    @Test func `Sends the token to no other server, even if the API redirects`() async throws {
        try await ExampleServer.run { other in
            try await run { app in
                try await app.server.setFaults(
                    Fault(path: "/oauth/userinfo", status: 302, headers: ["Location": other.issuer + "/oauth/userinfo"])
                )
                #expect(try await app.client.get("/oauth/userinfo").head.status == 302)
                let error = await #expect(throws: AccountError.self) {
                    try await app.client.get(other.issuer + "/oauth/userinfo")
                }
                #expect(error?.code == .invalidArgument)
                #expect(try await other.log().requests == [])
            }
        }
    }
}
