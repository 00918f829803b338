import AccountCommands
import AccountHTTP
import AccountKit
import AccountTesting
import Foundation
import HTTPTypes
import Testing

// snippet.tokens
/// A login that returns only tokens, and no user.
struct TokenLogin: PasswordAuthority {
    var issuer: String? { nil }
    let client: LoginClient

    func signIn(username: String, password: Secret) async throws -> Account {
        let response = try await client.post(
            "/login", ["username": username, "password": password.reveal()], hiding: [password],
            timeout: tokenRequestTimeout)
        if response.statusCode == 401 { throw AuthorityError.signInRefused("wrong user name or password") }
        // Here, the service ignores the case of user names.
        return Account(id: username.lowercased(), username: username, credentials: try credentials(in: response))
    }

    func verify(_ account: Account) async throws -> Identity {
        // Any request that requires the token.
        try check(try await client.get("/notes?limit=1", token: account.credentials.accessToken))
        return Identity(id: account.id)
    }

    func refresh(_ account: Account) async throws -> Credentials {
        let token = account.credentials.refreshToken ?? Secret("")
        let response = try await client.post(
            "/refresh", ["refresh_token": token.reveal()], hiding: [token], timeout: tokenRequestTimeout)
        // The documentation of the service says that the refresh token is no longer valid.
        if response.statusCode == 401 { throw AuthorityError.rejected("401") }
        return try credentials(in: response)
    }

    private struct Tokens: Decodable {
        var accessToken: String
        var refreshToken: String?
        var expiresIn: Double?
    }

    private func credentials(in response: APIResponse) throws -> Credentials {
        try check(response)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let tokens = try? decoder.decode(Tokens.self, from: response.body) else {
            throw AuthorityError.unclear("a response without tokens")
        }
        let now = Date.now
        return Credentials(
            accessToken: Secret(tokens.accessToken), refreshToken: tokens.refreshToken.map { Secret($0) },
            issuedAt: now, expiresAt: tokens.expiresIn.map { now.addingTimeInterval($0) })
    }

    private func check(_ response: APIResponse) throws {
        switch response.statusCode {
        case 200..<300: return
        case 401: throw AuthorityError.unauthorized(error: nil)
        case 403: throw AuthorityError.forbidden(error: nil)
        default: throw AuthorityError.unclear("status \(response.statusCode)")
        }
    }
}
// snippet.end

enum Cards: AccountApplication {
    static let identifier = "com.example.cards"

    // snippet.client
    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        let client = try LoginClient(
            origin: "https://api.example.com", timeout: options.timeout, logger: options.logger)
        return TokenLogin(client: client)
    }
    // snippet.end
}

struct TokenLoginTests {
    private static func tokens(_ number: Int) -> ScriptedTransport.Response {
        .json(#"{"access_token": "access-\#(number)", "refresh_token": "refresh-\#(number)", "expires_in": 3600}"#)
    }

    private func login(_ responses: [ScriptedTransport.Response]) throws -> TokenLogin {
        let transport = ScriptedTransport(responses)
        return TokenLogin(client: try LoginClient(origin: "https://api.example.com", transport: transport.send))
    }

    @Test func `Refreshes after a 401 until the service rejects the refresh token`() async throws {
        let login = try login([
            Self.tokens(1), .json("[]"), .status(401), Self.tokens(2), .json("[]"), .status(401),
        ])
        let store = try await AccountStore.inMemory(signedIn: nil, clock: ManualClock(.now))
        try await store.signIn(username: "Alice", password: Secret("correct horse"), with: login)
        let account = try #require(store.account)
        #expect(account.id == "alice" && account.username == "Alice" && account.credentials.expiresAt != nil)
        for token in ["access-1", "access-2"] {
            guard case .verified(let account) = await store.checkSession(with: login) else {
                Issue.record("the session works")
                return
            }
            #expect(account.credentials.accessToken == Secret(token))
        }
        await expectAccountError(.notSignedIn) { try await store.refresh(with: login) }
        #expect(store.account == nil)
    }

    @Test func `Keeps the account after a wrong password or a 403`() async throws {
        let login = try login([Self.tokens(1), .status(401), .status(403)])
        let store = try await AccountStore.inMemory(signedIn: nil, clock: ManualClock(.now))
        try await store.signIn(username: "alice", password: Secret("correct horse"), with: login)
        await expectAccountError(.signInRefused) {
            try await store.signIn(username: "alice", password: Secret("guess"), with: login)
        }
        guard case .unverified(let account, _) = await store.checkSession(with: login) else {
            Issue.record("the account is kept")
            return
        }
        #expect(account.credentials.accessToken == Secret("access-1"))
    }
}
