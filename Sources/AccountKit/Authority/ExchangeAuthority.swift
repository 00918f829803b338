/// An authority that can prepare a token request before it sends a token.
///
/// A refresh first prepares its request, and then records its intent. The lease therefore
/// needs to last only for the request itself. If a process dies while it connects, it leaves no record of a token that may be spent.
package protocol ExchangeAuthority: AccountAuthority {
    /// Looks up the endpoint and connects to it, without sending a token. If this function throws an
    /// ``AuthorityError``, the token request was not sent.
    func prepare(_ request: TokenRequest, of account: Account) async throws -> any PreparedExchange
}

package enum TokenRequest: Sendable {
    case refresh

    case derivation(TokenTarget, TokenDerivation)
}

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
    let authority: any AccountAuthority
    let request: TokenRequest
    let account: Account

    func send(if mayBeSent: @escaping @Sendable () -> Bool) async throws -> Credentials {
        guard mayBeSent() else { throw AuthorityError.leaseLost }
        switch request {
        case .refresh: return try await authority.refresh(account)
        case .derivation(let target, let means):
            guard let authority = authority as? any TokenExchangeAuthority else {
                throw AuthorityError.misconfigured("tokens for other APIs are not supported for this service")
            }
            return try await authority.exchangeToken(for: target, of: account, by: means)
        }
    }

    func abandon() {}
}
