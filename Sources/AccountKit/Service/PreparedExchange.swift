/// A request that obtains tokens for an account.
package enum TokenRequest: Sendable {
    case refresh

    case derivation(TokenTarget, TokenDerivation)
}

/// The grant for a token for another API.
package enum TokenDerivation: Sendable, Hashable {
    /// A refresh with a `resource` or a narrower `scope` (RFC 6749, section 6; RFC 8707, section 2.2).
    case refresh

    /// A token exchange with the access token, which stays valid (RFC 8693).
    case tokenExchange
}

/// A token request whose connection is open, and which has sent no token yet; see ``ServiceAuthority/prepare(_:of:)``.
package protocol PreparedExchange: Sendable {
    /// Sends the request. Call this function only once. The function calls `mayBeSent` immediately before the first
    /// byte of a token leaves the process. If `mayBeSent` returns `false`, the function sends nothing and throws
    /// ``AuthorityError/leaseLost``.
    func send(if mayBeSent: @escaping @Sendable () -> Bool) async throws -> Credentials

    /// Closes the connection without sending the request. Does nothing after ``send(if:)``.
    func abandon()
}

extension AuthorityError {
    /// The error for a request that was not sent, because the sender's lease does not last for the whole exchange.
    package static let leaseLost = AuthorityError.notSent(.noResponse(.init(.leaseLost)))

    /// The error for a request that was not sent, because this machine could not start the threads that it needs.
    package static let noThread = AuthorityError.noResponse(.init(.noThread))
}

/// A request of an authority that connects and sends in one step.
struct UnpreparedExchange: PreparedExchange {
    let authority: any ServiceAuthority
    let request: TokenRequest
    let account: Account

    func send(if mayBeSent: @escaping @Sendable () -> Bool) async throws -> Credentials {
        guard mayBeSent() else { throw AuthorityError.leaseLost }
        switch request {
        case .refresh: return try await authority.refresh(account)
        case .derivation(let target, let means):
            return try await authority.exchangeToken(for: target, of: account, by: means)
        }
    }

    func abandon() {}
}
