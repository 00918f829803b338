public import AccountKit
import AccountSupport
import Synchronization

/// A service with scripted responses, which records its requests.
///
/// Each kind of request has a list of responses. The last response of the list repeats. If a list is empty, the service
/// accepts each request of this kind.
public final class ScriptedAuthority: PasswordAuthority, TokenAuthority, ServiceAuthority {
    /// `nil`: the accounts of a test need no issuer.
    public var issuer: String? { nil }

    /// A kind of request.
    public enum Request: Sendable, Hashable, CaseIterable {
        case verify, refresh, revoke, signIn, updateProfile, derive
    }

    /// A response from the service.
    public enum Response: Sendable {
        /// The service accepts the request.
        case accept

        /// The request fails.
        case refuse(AuthorityError)

        /// The service accepts the request, and returns this user.
        case identity(Identity)

        /// The service accepts the request, and issues these tokens.
        case tokens(Credentials)

        /// The service does not respond until ``ScriptedAuthority/release()``, and then accepts the request. A
        /// cancellation ends the wait.
        case hang
    }

    private struct State {
        var responses: [Request: [Response]]
        var requests: [Request] = []
        var tokenCount = 1
        var derivedCount = 0
        var hanging: [Int: CheckedContinuation<Void, Never>] = [:]
        var onRequest: [(Request, CheckedContinuation<Void, Never>)] = []
        var isReleased = false
    }

    private let state: Mutex<State>
    private let clock: any WallClock

    /// Creates a service with responses.
    ///
    /// - Parameters:
    ///   - verify: The responses to checks of a token.
    ///   - refresh: The responses to refreshes.
    ///   - revoke: The responses to revocations.
    ///   - signIn: The responses to sign-ins.
    ///   - derive: The responses to requests for other tokens.
    ///   - clock: The clock that determines the date of new tokens.
    public init(
        verify: [Response] = [], refresh: [Response] = [], revoke: [Response] = [], signIn: [Response] = [],
        derive: [Response] = [], clock: any WallClock = ManualClock()
    ) {
        self.clock = clock
        state = Mutex(
            State(
                responses: [
                    .verify: verify, .refresh: refresh, .revoke: revoke, .signIn: signIn, .derive: derive,
                ]))
    }

    /// The requests, in order.
    public var requests: [Request] { state.withLock { $0.requests } }

    /// Replaces the responses to a kind of request.
    public func respond(to request: Request, with responses: [Response]) {
        state.withLock { $0.responses[request] = responses }
    }

    /// Continues current and future hanging requests.
    public func release() {
        let hanging = state.withLock { state in
            defer { state.hanging = [:] }
            state.isReleased = true
            return state.hanging
        }
        for continuation in hanging.values { continuation.resume() }
    }

    /// Waits until the service has received a request of this kind.
    public func waitForRequest(_ request: Request) async {
        await withCheckedContinuation { continuation in
            let wasAsked = state.withLock { state in
                let wasAsked = state.requests.contains(request)
                if !wasAsked { state.onRequest.append((request, continuation)) }
                return wasAsked
            }
            if wasAsked { continuation.resume() }
        }
    }

    // MARK: AccountAuthority

    /// Returns the identity in the script, or the identity of the account if there is none.
    public func verify(_ account: Account) async throws -> Identity {
        if case .identity(let identity) = try await next(.verify) { return identity }
        return Identity(id: account.id, username: account.username)
    }

    /// Returns the tokens in the script. If there are none, this method issues tokens that are valid for an hour:
    /// `access-2` and `refresh-2`, then `access-3` and `refresh-3`, with increasing numbers.
    public func refresh(_ account: Account) async throws -> Credentials {
        if case .tokens(let credentials) = try await next(.refresh) { return credentials }
        return newTokens()
    }

    /// Revokes the tokens.
    public func revoke(_ account: Account) async throws -> RevocationOutcome {
        _ = try await next(.revoke)
        return .done
    }

    /// Returns `true` for every account.
    public func isAuthority(of account: Account) -> Bool { true }

    /// Signs in `username`.
    public func signIn(username: String, password: Secret) async throws -> Account {
        var identity = Identity(id: "id of \(username)", username: username)
        if case .identity(let scripted) = try await next(.signIn) { identity = scripted }
        return Account(
            id: identity.id, username: identity.username, credentials: newTokens(), profile: identity.profile,
            verifiedAt: clock.now)
    }

    /// Signs in "alice".
    public func signIn(token: Secret) async throws -> Account {
        try await signIn(username: "alice", password: token)
    }

    /// Accepts the profile, and returns the identity in the script, or the identity of the account if there is none.
    public func updateProfile(of account: Account) async throws -> Identity {
        if case .identity(let identity) = try await next(.updateProfile) { return identity }
        return Identity(id: account.id, username: account.username)
    }

    // MARK: ServiceAuthority

    package var passwordWay: (any PasswordAuthority)? { self }
    package var tokenWay: (any TokenAuthority)? { self }
    package var derivesTokens: Bool { true }

    /// Returns `tokenExchange` if the target has an audience or the account has no refresh token, and otherwise
    /// `refresh`.
    package func tokenDerivation(for target: TokenTarget, of account: Account) async throws -> TokenDerivation {
        target.audience != nil || account.credentials.refreshToken == nil ? .tokenExchange : .refresh
    }

    /// Returns the tokens in the script. If there are none, this method issues tokens that are valid for an hour,
    /// without a refresh token: `derived-1`, then `derived-2`, with increasing numbers.
    package func exchangeToken(
        for target: TokenTarget, of account: Account, by derivation: TokenDerivation
    ) async throws -> Credentials {
        if case .tokens(let credentials) = try await next(.derive) { return credentials }
        let count = state.withLock { state in
            state.derivedCount += 1
            return state.derivedCount
        }
        return Credentials(
            accessToken: Secret("derived-\(count)"), issuedAt: clock.now, expiresAt: clock.now.addingTimeInterval(3600))
    }

    private func newTokens() -> Credentials {
        let count = state.withLock { state in
            state.tokenCount += 1
            return state.tokenCount
        }
        return Credentials(
            accessToken: Secret("access-\(count)"), refreshToken: Secret("refresh-\(count)"), issuedAt: clock.now,
            expiresAt: clock.now.addingTimeInterval(3600))
    }

    private func next(_ request: Request) async throws -> Response {
        let (response, id, watchers) = state.withLock { state in
            state.requests.append(request)
            let watchers = state.onRequest.filter { $0.0 == request }.map(\.1)
            state.onRequest.removeAll { $0.0 == request }
            let responses = state.responses[request] ?? []
            if responses.count > 1 { state.responses[request]?.removeFirst() }
            return (responses.first ?? .accept, state.requests.count, watchers)
        }
        for watcher in watchers { watcher.resume() }
        switch response {
        case .refuse(let failure): throw failure
        case .hang: try await hang(id)
        case .accept, .identity, .tokens: break
        }
        return response
    }

    private func hang(_ id: Int) async throws {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    let goesOn = state.isReleased || Task.isCancelled
                    if !goesOn { state.hanging[id] = continuation }
                    return goesOn
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.hanging.removeValue(forKey: id) }?.resume()
        }
        try Task.checkCancellation()
    }
}
