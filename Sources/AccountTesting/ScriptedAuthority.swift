public import AccountKit
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A service that responds as a test tells it to, and remembers what it was asked.
///
/// Each kind of request has a list of responses; the last one is given again and again, and without a list the service
/// accepts everything.
public final class ScriptedAuthority: PasswordAuthority, TokenAuthority, ProfileAuthority, TokenExchangeAuthority {
    /// A kind of request.
    public enum Request: Sendable, Hashable, CaseIterable {
        case verify, refresh, revoke, signIn, updateProfile, derive
    }

    /// What the service does with a request.
    public enum Response: Sendable {
        /// The service does what it is asked.
        case accept

        /// The service, or the way to it, does not.
        case refuse(AuthorityError)

        /// The service accepts, and says that the user is this one.
        case identity(Identity)

        /// The service accepts, and these are the new tokens.
        case tokens(Credentials)

        /// No response until ``ScriptedAuthority/release()``, or till the caller is cancelled; then it accepts.
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

    /// A service with these responses.
    ///
    /// - Parameters:
    ///   - verify: The responses to "whose is this token?".
    ///   - refresh: The responses to "a new token, please".
    ///   - revoke: The responses to "the user has signed out".
    ///   - signIn: The responses to a sign-in.
    ///   - derive: The responses to "a token for another API, please".
    ///   - clock: The date of new tokens.
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

    /// What the service was asked, in order.
    public var requests: [Request] { state.withLock { $0.requests } }

    /// Changes the responses to a kind of request.
    public func respond(to request: Request, with responses: [Response]) {
        state.withLock { $0.responses[request] = responses }
    }

    /// Lets the responses that hang, and those to come, be given.
    public func release() {
        let hanging = state.withLock { state in
            defer { state.hanging = [:] }
            state.isReleased = true
            return state.hanging
        }
        for continuation in hanging.values { continuation.resume() }
    }

    /// Waits until the service has been asked this.
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

    /// Says whose the token is; the account's user, unless the script says otherwise.
    public func verify(_ account: Account) async throws -> Identity {
        if case .identity(let identity) = try await next(.verify) { return identity }
        return Identity(id: account.id, username: account.username)
    }

    /// Gives out tokens: `access-2` and `refresh-2`, then `access-3`…, good for an hour, unless the script has others.
    public func refresh(_ account: Account) async throws -> Credentials {
        if case .tokens(let credentials) = try await next(.refresh) { return credentials }
        return newTokens()
    }

    /// Takes the sign-out.
    public func revoke(_ account: Account) async throws -> RevocationOutcome {
        _ = try await next(.revoke)
        return .done
    }

    /// All accounts are its own.
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

    /// Takes the profile as it is.
    public func updateProfile(of account: Account) async throws -> Identity {
        if case .identity(let identity) = try await next(.updateProfile) { return identity }
        return Identity(id: account.id, username: account.username)
    }

    /// By token exchange for an audience, or where there is no refresh token; otherwise by a refresh.
    public func tokenDerivation(for target: TokenTarget, of account: Account) async throws -> TokenDerivation {
        target.audience != nil || account.credentials.refreshToken == nil ? .tokenExchange : .refresh
    }

    /// Gives out `derived-1`, then `derived-2`…, good for an hour and without a refresh token, unless the script has others.
    public func exchangeToken(
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
