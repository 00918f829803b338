import AccountDocuments
import AccountKit
import AccountTesting
import Foundation
import Synchronization
import TestScene
import Testing

/// Transfers of blobs that were opened for alice, while bob signs in.
struct BlobRequestUserTests {
    /// An app whose transport sends the token of the signed-in user, like `AuthenticatedClient`.
    private final class App: Sendable {
        let scene: TestScene
        private let authority: ScriptedAuthority
        private let sent = Mutex<[String]>([])
        private let beforeToken = Mutex<(@Sendable () async throws -> Void)?>(nil)

        init() async throws {
            scene = try await TestScene()
            authority = ScriptedAuthority(clock: scene.clock)
            try await signIn("alice")
        }

        var tokens: [String] { sent.withLock(\.self) }

        func signIn(_ id: String) async throws {
            var account = Account.testing(id: id, at: scene.clock.now)
            account.credentials.accessToken = Secret("token of \(id)")
            account.credentials.refreshToken = Secret("refresh token of \(id)")
            try await scene.store.signIn { [account] in account }
        }

        /// Runs `body` once, after a request has begun and before the request has a token.
        func beforeNextToken(_ body: @escaping @Sendable () async throws -> Void) {
            beforeToken.withLock { $0 = body }
        }

        func open(_ service: BlobService) async throws -> OfflineBlobs {
            try await OfflineBlobs(
                "photos", Files(), of: scene.store, in: AppContainer(root: scene.root, identifier: "com.example.notes"),
                clock: scene.clock
            ) { [self] request, body, receive in
                try await beforeToken.withLock { $0.take() }?()
                let token = try await scene.store.accessToken(timeout: nil, with: authority).reveal()
                sent.withLock { $0.append(token) }
                return try await service.send(request, body, receive)
            }
        }
    }

    @Test func `Never transfers blobs with another user's token`() async throws {
        let app = try await App()
        let service = BlobService()
        await service.put(BlobScene.bytes(1000))
        let blobs = try await app.open(service)
        let file = app.scene.root + "/source"
        try Data("alice's".utf8).write(to: URL(filePath: file))
        for isUpload in [false, true] {
            try await app.signIn("alice")
            app.beforeNextToken { try await app.signIn("bob") }
            await #expect(throws: AccountError.self) {
                if isUpload {
                    _ = try await blobs.upload(contentsOf: file, as: "b", owner: "o")
                } else {
                    _ = try await blobs.blob("a", owner: "o")
                }
            }
        }
        #expect(app.tokens.isEmpty)
        try await app.signIn("alice")
        _ = try await blobs.blob("a", owner: "o")
        #expect(app.tokens == ["token of alice"])
    }
}
