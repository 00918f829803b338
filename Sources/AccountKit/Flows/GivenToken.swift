import AccountSupport
import Synchronization

/// A token that AccountKit uses in place of an archive, such as a token from the environment. Every change fails with
/// an error.
final class GivenToken: ArchiveStorage, KeyProvider {
    private let variable: String
    fileprivate let state: Mutex<SessionState>

    init(_ token: Secret, from variable: String, at date: Date) {
        self.variable = variable
        // Only the service can identify the user of the token.
        let account = Account(id: variable, credentials: Credentials(accessToken: token, issuedAt: date))
        state = Mutex(.unverified(account, .init(.notChecked)))
    }

    var refusal: AccountError {
        AccountError(
            .invalidArgument,
            "\(variable) is set, so AccountKit uses it instead of the archive",
            hint: "unset it to sign in or out, or to change the account"
        )
    }

    func rejection(_ signOut: SignOut) -> AccountError {
        AccountError(
            .notSignedIn,
            "\(signOut.issuer ?? "the service") does not accept the token in \(variable) (\(signOut.detail ?? "rejected"))",
            hint: AccountError.hint(forTokenIn: variable))
    }

    let kind = KeyKind.environment

    func key() async throws -> ArchiveKey? { nil }

    func makeKey() async throws -> ArchiveKey { throw refusal }

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? { nil }

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction { throw refusal }

    func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease { throw refusal }

    /// No other process can change the token, so there are no changes.
    func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> {
        AsyncThrowingStream { try await Task.sleep(for: .seconds(24 * 3600)) }
    }
}

extension AccountError {
    /// The hint if a service rejects a token from an environment variable. Signing in does not change that token.
    package static func hint(forTokenIn variable: String) -> String {
        "replace the token in \(variable), or run `unset \(variable)`"
    }
}

extension Flows {
    func refuseGivenToken() throws(AccountError) {
        if let givenToken { throw givenToken.refusal }
    }

    func load(_ given: GivenToken) -> SessionState {
        given.state.withLock { state in
            publish(state)
            return state
        }
    }

    func check(
        _ given: GivenToken, with authority: any AccountAuthority, maximumAge: Duration, _ timeout: Duration?
    ) async -> SessionState {
        let state = load(given)
        guard case .unverified(let account, _) = state else { return state }
        // When the service of the token is known, do not send the token to another service.
        if account.issuer != nil, let mismatch = authority.mismatch(with: account) {
            return .unverified(account, .init(.misconfigured, detail: mismatch))
        }
        if account.isConfirmed(within: maximumAge.seconds, of: vault.clock.now) { return .verified(account) }
        do {
            let found = try await withDeadline(timeout.map { .now + $0 }) {
                try await authority.account(of: account)
            }
            guard var found else { throw AuthorityError.noResponse(.timeout) }
            found.verifiedAt = vault.clock.now
            return settle(given, .unverified(found, .init(.notChecked))).account.map { .verified($0) } ?? load(given)
        } catch {
            let failure: AuthorityError =
                if let error = error as? AccountError, error.code == .misconfigured {
                    .misconfigured(error.userText)
                } else {
                    AuthorityError(error)
                }
            let detail: String
            switch (failure, SessionDecision.afterVerification(failure, .init(holdsRefreshToken: false))) {
            // The user signed in with this token, so the error contains the refusal.
            case (.signInRefused(let refusal), _) where authority.serviceAuthority.tokenWay != nil: detail = refusal
            case (_, .clear(let rejection)): detail = rejection
            default: return .unverified(account, SessionDecision.reason(for: failure))
            }
            return settle(
                given,
                .signedOut(
                    SignOut(.sessionEnded, date: vault.clock.now, issuer: authority.issuer, detail: detail)))
        }
    }

    private func settle(_ given: GivenToken, _ new: SessionState) -> SessionState {
        given.state.withLock { state in
            if case .unverified = state { state = new }
            publish(state)
            return state
        }
    }

    private func publish(_ state: SessionState) {
        switch state {
        case .unverified(let account, _), .verified(let account): vault.shared.publish(account, isSignIn: false)
        case .signedOut(let signOut): vault.shared.publish(signOut)
        case .unreadable: break
        }
    }
}

extension AccountAuthority {
    fileprivate func account(of unknown: Account) async throws -> Account {
        if let authority = serviceAuthority.tokenWay {
            var account = try await authority.signIn(token: unknown.credentials.accessToken).withIssuer(
                of: authority)
            account.credentials.accessToken = unknown.credentials.accessToken
            account.credentials.refreshToken = nil
            return account
        }
        let identity = try await verify(unknown)
        return Account(
            id: identity.id, issuer: issuer, username: identity.username, credentials: unknown.credentials,
            profile: identity.profile)
    }
}
