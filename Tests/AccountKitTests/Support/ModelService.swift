import AccountKit
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A service that issues tokens and tracks which of them are valid. It accepts each refresh token once. It treats a
/// second use as theft and ends the session (RFC 9700, section 4.14.2).
final class ModelService: PasswordAuthority, ServiceAuthority {
    var issuer: String? { nil }

    private struct State {
        var count = 0
        var accessTokens: Set<String> = []
        var refreshTokens: Set<String> = []
        var trouble: AuthorityError?
    }

    private let state = Mutex(State())
    private let clock: any WallClock

    init(clock: any WallClock) { self.clock = clock }

    /// If set, the response to every request.
    var trouble: AuthorityError? {
        get { state.withLock { $0.trouble } }
        set { state.withLock { $0.trouble = newValue } }
    }

    /// Invalidates all tokens.
    func endSessions() {
        state.withLock { state in
            state.accessTokens = []
            state.refreshTokens = []
        }
    }

    /// The account of a user who signs in.
    func account(of username: String) -> Account {
        Account(
            id: "id of \(username)", issuer: "https://auth.example.com", username: username, credentials: newTokens(),
            verifiedAt: clock.now)
    }

    func signIn(username: String, password: Secret) async throws -> Account {
        try check()
        return account(of: username)
    }

    func verify(_ account: Account) async throws -> Identity {
        try check()
        guard state.withLock({ $0.accessTokens.contains(account.credentials.accessToken.reveal()) }) else {
            throw AuthorityError.unauthorized(error: "invalid_token")
        }
        return Identity(id: account.id, username: account.username)
    }

    func refresh(_ account: Account) async throws -> Credentials {
        try check()
        try redeem(account)
        return newTokens()
    }

    private func redeem(_ account: Account) throws {
        guard let token = account.credentials.refreshToken?.reveal() else {
            throw AuthorityError.misconfigured("none")
        }
        let isGood = state.withLock { state in
            let isGood = state.refreshTokens.remove(token) != nil
            if !isGood {
                state.accessTokens = []
                state.refreshTokens = []
            }
            return isGood
        }
        guard isGood else { throw AuthorityError.oauthError("invalid_grant") }
    }

    /// Token exchange for an audience, otherwise a refresh.
    func tokenDerivation(for target: TokenTarget, of account: Account) async throws -> TokenDerivation {
        target.audience == nil ? .refresh : .tokenExchange
    }

    func exchangeToken(
        for target: TokenTarget, of account: Account, by derivation: TokenDerivation
    ) async throws -> Credentials {
        guard derivation == .tokenExchange else {
            try check()
            try redeem(account)
            return newTokens()
        }
        _ = try await verify(account)
        var derived = newTokens()
        derived.refreshToken = nil
        return derived
    }

    func revoke(_ account: Account) async throws -> RevocationOutcome {
        try check()
        return .done
    }

    func isAuthority(of account: Account) -> Bool { true }

    func updateProfile(of account: Account) async throws -> Identity {
        try check()
        return Identity(id: account.id, username: account.username)
    }

    private func check() throws {
        if let trouble { throw trouble }
    }

    private func newTokens() -> Credentials {
        let count = state.withLock { state in
            state.count += 1
            state.accessTokens.insert("access-\(state.count)")
            state.refreshTokens.insert("refresh-\(state.count)")
            return state.count
        }
        return Credentials(
            accessToken: Secret("access-\(count)"), refreshToken: Secret("refresh-\(count)"), issuedAt: clock.now,
            expiresAt: clock.now.addingTimeInterval(3600))
    }
}
