#if Offline
import AccountKit
import AccountTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import AccountOffline

/// Requests of a collection that was opened for alice, while bob signs in.
struct RequestUserTests {
    /// An app whose transport sends the token of the signed-in user, like `AuthenticatedClient`.
    private final class App: Sendable {
        let scene: OfflineScene
        let authority: ScriptedAuthority
        private let sent = Mutex<[(method: HTTPRequest.Method, token: String)]>([])

        init() async throws {
            scene = try await OfflineScene()
            authority = ScriptedAuthority(clock: scene.clock)
            try await signIn("alice")
        }

        var tokens: [String] { sent.withLock { $0.map(\.token) } }
        func tokens(of method: HTTPRequest.Method) -> [String] {
            sent.withLock { $0.filter { $0.method == method }.map(\.token) }
        }

        func signIn(_ id: String) async throws {
            var account = Account.testing(id: id, at: scene.clock.now)
            account.credentials.accessToken = Secret("token of \(id)")
            account.credentials.refreshToken = Secret("refresh token of \(id)")
            try await scene.store.signIn { [account] in account }
        }

        private func note(_ request: HTTPRequest) async throws {
            let token = try await scene.store.accessToken(timeout: nil, with: authority).reveal()
            sent.withLock { $0.append((request.method, token)) }
        }

        var transport: RemoteTransport {
            { [self] request, body in
                try await note(request)
                return try await scene.service.send(request, body)
            }
        }

        func open(sending transport: RemoteTransport? = nil) async throws -> OfflineCollection<Notes> {
            try await OfflineCollection(
                "notes", Notes(), of: scene.store, in: AppContainer(root: scene.root, identifier: "com.example.notes"),
                clock: scene.clock, sending: transport ?? self.transport)
        }
    }

    @Test func `Does not send a change with the token of a new user after a lookup`() async throws {
        let app = try await App()
        let notes = try await app.open()
        let id = await app.scene.service.create("old")
        try await notes.add(.update(id, "alice's"))
        // The adapter looks up the note first.
        await app.scene.service.beforeResponse { _ in try await app.signIn("bob") }
        let report = try await notes.synchronize()
        await app.scene.service.beforeResponse(nil)
        #expect(app.tokens == ["token of alice"])
        #expect(report.sentCount == 0)
        #expect(report.problem?.code == .notSignedIn)
        #expect(report.pending.map(\.state) == [.waitingForSignIn])

        // The change waits for alice's next sign-in, and is sent once.
        #expect(try await app.open().pendingChanges().isEmpty)
        try await app.signIn("alice")
        #expect(try await app.open().synchronize().sentCount == 1)
        #expect(app.tokens(of: .patch) == ["token of alice"])
        #expect(await app.scene.service.applied == ["PATCH \(id) alice's": 1])
    }

    @Test func `Does not send a change with the token of a new user after a refresh`() async throws {
        let app = try await App()
        let notes = try await app.open()
        try await notes.add(.create("alice's"))
        try await app.scene.store.update { [now = app.scene.clock.now] in $0.credentials.expiresAt = now }
        app.authority.respond(to: .refresh, with: [.hang])
        let report = Task { try await notes.synchronize() }
        await app.authority.waitForRequest(.refresh)
        try await app.signIn("bob")
        app.authority.release()
        #expect(try await report.value.problem?.code == .notSignedIn)
        #expect(app.tokens.isEmpty)
        try await app.signIn("alice")
        #expect(try await app.open().pendingChanges().map(\.change.sentAt) == [nil])
        #expect(try await app.open().synchronize().sentCount == 1)
        #expect(app.tokens == ["token of alice"])
    }

    @Test func `Never requests lists and items with another user's token`() async throws {
        let app = try await App()
        for number in 1...8 { await app.scene.service.create("text \(number)") }
        let notes = try await app.open()
        await app.scene.service.beforeResponse { _ in try await app.signIn("bob") }
        await #expect(throws: AccountError.self) { try await notes.refreshAll("all") }
        await app.scene.service.beforeResponse(nil)
        #expect(try await notes.refresh("all").problem != nil)
        await #expect(throws: AccountError.self) { _ = try await notes.loadMore(of: "all") }
        await #expect(throws: AccountError.self) { try await notes.refreshItem("n1") }
        #expect(app.tokens == ["token of alice"])
    }

    @Test(.timeLimit(.minutes(5)))
    func `Sends a connectivity probe independently of the request's user`() async throws {
        let app = try await App()
        let (sleeps, sleep) = AsyncStream.makeStream(of: Void.self)
        let probe = Notes().request(for: "all", at: nil)
        let monitor = ConnectivityMonitor(app.transport, probe: probe, clock: app.scene.clock) { _ in
            for await _ in sleeps { return }
            throw CancellationError()
        }
        let notes = try await app.open(sending: monitor.transport)
        _ = try await notes.refresh("all")
        var changes = monitor.changes().makeAsyncIterator()
        #expect(await changes.next() == .online)
        await app.scene.service.fail(.refused)
        _ = try await notes.refresh("all")
        guard case .uncertain? = await changes.next() else {
            Issue.record("the failure changed nothing")
            return
        }
        try await app.signIn("bob")
        sleep.yield()
        sleep.finish()
        #expect(await changes.next() == .online)
        #expect(app.tokens.last == "token of bob")
    }
}
#endif
