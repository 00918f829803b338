import AccountSupport

/// The purpose of a token for another API, or with fewer scopes than the session has.
///
/// The order of resources and scopes does not matter, and duplicates have no effect.
public struct TokenTarget: Sendable, Hashable {
    /// The name of the API at the service (RFC 8693, section 2.1); `nil` for none.
    package let audience: String?

    /// The APIs, as absolute URIs without a fragment (RFC 8707, section 2), sorted.
    package let resources: [String]

    /// The scopes of the token (RFC 6749, section 3.3), sorted. If empty, the service chooses the scopes.
    package let scopes: [String]

    /// Creates a target.
    ///
    /// - Parameters:
    ///   - audience: The name of the API. A token with an audience requires a token exchange.
    ///   - resources: The APIs, as absolute URIs without a fragment.
    ///   - scopes: The scopes of the token: a subset of the session's scopes.
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` if the audience, the resources and the scopes are
    ///   all empty, or if a value cannot be sent.
    public init(
        audience: String? = nil, resources: [String] = [], scopes: [String] = []
    ) throws(AccountError) {
        guard audience != nil || !resources.isEmpty || !scopes.isEmpty else {
            throw AccountError(.invalidArgument, "specify an audience, a resource or a scope for the token")
        }
        if let audience, !RequestRules.isAudience(audience) {
            throw AccountError(.invalidArgument, "the audience must not be empty or contain control characters")
        }
        for resource in resources where !RequestRules.isResource(resource) {
            throw AccountError(
                .invalidArgument,
                "a resource must be an absolute URI without a fragment (#…), such as https://api.example.com/ (RFC 8707)"
            )
        }
        for scope in scopes where !RequestRules.isScope(scope) {
            throw AccountError(
                .invalidArgument, "a scope must not be empty or contain a space, quotation mark or backslash (RFC 6749)"
            )
        }
        self.init(stored: audience, resources, scopes)
        let texts = [self.audience ?? ""] + self.resources + self.scopes
        guard texts.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumByteCount else {
            throw AccountError(.invalidArgument, "the audience, resources and scopes together are longer than 8 KiB")
        }
    }

    /// The maximum size of a target, so that derived tokens fit into an archive.
    private static let maximumByteCount = 8 * 1024

    /// Creates a target from the archive, without checks.
    init(stored audience: String?, _ resources: [String], _ scopes: [String]) {
        self.audience = audience
        self.resources = Set(resources).sorted()
        self.scopes = Set(scopes).sorted()
    }
}

/// An access token for another API or with fewer scopes; see
/// ``AccountStore/accessToken(for:minimumValidity:timeout:with:)``.
package struct DerivedToken: Sendable, Equatable {
    package let target: TokenTarget

    /// The access token with its scopes and dates, without a refresh token or an ID token.
    package internal(set) var credentials: Credentials
}

extension Credentials {
    static let maximumDerivedCount = 16

    /// The maximum length of a stored token, in bytes. A longer token does not fit into a header.
    static let maximumDerivedByteCount = 16 * 1024

    package func derivedToken(for target: TokenTarget) -> DerivedToken? {
        derivedTokens.first { $0.target == target }
    }

    /// Adds a new derived token, unless the token is too long. Removes expired tokens, and the oldest tokens beyond the
    /// limit.
    mutating func keep(_ response: Credentials, for target: TokenTarget, at date: Date) {
        derivedTokens.removeAll { $0.target == target || $0.credentials.isExpired(at: date) }
        guard response.accessToken.byteCount <= Self.maximumDerivedByteCount else { return }
        var derived = Credentials(
            accessToken: response.accessToken, tokenType: response.tokenType, scopes: response.scopes,
            issuedAt: response.issuedAt, expiresAt: response.expiresAt)
        // An authority may use the date of its service. If that date is in the future, it must not cause another
        // request.
        if derived.isFromFuture(at: date) { derived.issuedAt = date }
        derivedTokens.append(DerivedToken(target: target, credentials: derived))
        derivedTokens.removeFirst(max(0, derivedTokens.count - Self.maximumDerivedCount))
    }
}
