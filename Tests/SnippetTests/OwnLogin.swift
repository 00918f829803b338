import AccountKit
import AccountTesting
import Foundation
import Synchronization
import Testing

/// A response from the example service: a code if something went wrong, otherwise a user and tokens.
struct NotesResponse: Sendable {
    var code: String?
    var id = 0
    var name = ""
    var token = ""
    var refreshToken = ""
}

/// Sends a request to the example service. Throws `AuthorityError.noResponse` if there is no response.
typealias NotesServer = @Sendable (_ path: String, _ fields: [String: Secret]) async throws -> NotesResponse

struct NotesLogin: PasswordAuthority {
    var issuer: String? { nil }
    let ask: NotesServer

    func signIn(username: String, password: Secret) async throws -> Account {
        let response = try await ask("/login", ["username": Secret(username), "password": password])
        if response.code == "wrong_password" {
            throw AuthorityError.signInRefused("wrong password")
        }
        let tokens = try credentials(response)
        return Account(id: response.id, username: response.name, credentials: tokens)
    }

    func verify(_ account: Account) async throws -> Identity {
        let response = try await ask("/userinfo", ["token": account.credentials.accessToken])
        switch response.code {
        case nil: return Identity(id: response.id, username: response.name)
        // Explicit: this signs the user out.
        case "session_revoked": throw AuthorityError.rejected("session_revoked")
        // Not explicit: the user stays signed in.
        case let code?: throw AuthorityError.unclear("code \(code)")
        }
    }

    private func credentials(_ response: NotesResponse) throws -> Credentials {
        if let code = response.code { throw AuthorityError.unclear("code \(code)") }
        return Credentials(
            accessToken: Secret(response.token), refreshToken: Secret(response.refreshToken),
            issuedAt: .now, expiresAt: .now.addingTimeInterval(3600))
    }
}

// snippet.refresh
extension NotesLogin {
    func refresh(_ account: Account) async throws -> Credentials {
        let token = account.credentials.refreshToken ?? Secret("")
        let response = try await ask("/refresh", ["refresh_token": token])
        if response.code == "session_revoked" {
            throw AuthorityError.rejected("session_revoked")
        }
        return try credentials(response)
    }

    func revoke(_ account: Account) async throws -> RevocationOutcome {
        _ = try await ask("/logout", ["token": account.credentials.accessToken])
        return .done
    }
}
// snippet.end

struct OwnLoginTests {
    private final class Server: Sendable {
        let code = Mutex<String?>(nil)
        let paths = Mutex<[String]>([])

        var ask: NotesServer {
            { path, _ in
                self.paths.withLock { $0.append(path) }
                let code = self.code.withLock { $0 }
                if code == "offline" { throw AuthorityError.noResponse(.unreachable) }
                return NotesResponse(code: code, id: 7, name: "alice", token: "a-\(path)", refreshToken: "r-\(path)")
            }
        }
    }

    @Test func `Keeps a session of an app's own service until an explicit rejection`() async throws {
        let server = Server()
        let login = NotesLogin(ask: server.ask)
        let store = try await AccountStore.inMemory(signedIn: nil, clock: ManualClock(.now))
        server.code.withLock { $0 = "wrong_password" }
        await expectAccountError(.signInRefused) {
            try await store.signIn(username: "alice", password: Secret("guess"), with: login)
        }
        server.code.withLock { $0 = nil }
        try await store.signIn(username: "alice", password: Secret("right"), with: login)
        #expect(await store.checkSession(with: login).account?.username == "alice")
        for trouble in ["offline", "maintenance"] {
            server.code.withLock { $0 = trouble }
            #expect(await store.checkSession(with: login).account?.username == "alice")
        }
        server.code.withLock { $0 = nil }
        try await store.refresh(with: login)
        #expect(store.account?.credentials.accessToken == Secret("a-/refresh"))
        server.code.withLock { $0 = "session_revoked" }
        #expect(await store.checkSession(with: login).account == nil)
        #expect(server.paths.withLock { $0 }.contains("/userinfo"))
    }
}
