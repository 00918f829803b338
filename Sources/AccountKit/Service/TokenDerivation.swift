/// The grant for a token for another API.
package enum TokenDerivation: Sendable, Hashable {
    /// A refresh with a `resource` or a narrower `scope` (RFC 6749, section 6; RFC 8707, section 2.2).
    case refresh

    /// A token exchange with the access token, which stays valid (RFC 8693).
    case tokenExchange
}
