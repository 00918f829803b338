/// An authority that can make a token request ready before it sends a token. A refresh prepares its request, and then
/// records its intent. So discovery and the connection cost none of the time for which the lease lasts, and a process
/// that dies while it connects leaves no record of a token that may be spent.
package protocol ExchangeAuthority: AccountAuthority {
    /// Looks up the endpoint and connects to it, without a token. An ``AuthorityError`` says that nothing was sent.
    func prepare(_ request: TokenRequest, of account: Account) async throws -> any PreparedExchange
}

package enum TokenRequest: Sendable {
    case refresh

    case derivation(TokenTarget, TokenDerivation)
}

package protocol PreparedExchange: Sendable {
    /// Sends the request, once. `mayBeSent` decides immediately before the first byte of a token leaves the process: if
    /// it returns `false`, nothing is sent, and the error is ``AuthorityError/withheld``.
    func send(if mayBeSent: @escaping @Sendable () -> Bool) async throws -> Credentials

    /// Closes the connection without sending the request. Does nothing after ``send(if:)``.
    func abandon()
}

extension AuthorityError {
    /// A request that was not sent because the lease of its sender does not last for the whole exchange.
    package static let withheld = AuthorityError.notSent(.noResponse(.init(.timeout, stage: .connection)))
}

/// For an authority that makes its requests in one step.
struct UnpreparedExchange: PreparedExchange {
    let authority: any AccountAuthority
    let request: TokenRequest
    let account: Account

    func send(if mayBeSent: @escaping @Sendable () -> Bool) async throws -> Credentials {
        guard mayBeSent() else { throw AuthorityError.withheld }
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
