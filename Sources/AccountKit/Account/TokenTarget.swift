#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What an access token is to be for, where that is less than, or something else than, what the sign-in is for.
///
/// The order in which resources and scopes are named makes no difference, and neither does naming one twice.
public struct TokenTarget: Sendable, Hashable {
    /// The name of the API, at services that call it so (RFC 8693, section 2.1). `nil` names none.
    public let audience: String?

    /// The APIs, as absolute URIs without a fragment (RFC 8707, section 2), sorted.
    public let resources: [String]

    /// What the token may be used for, at most (RFC 6749, section 3.3), sorted. Empty leaves it to the service.
    public let scopes: [String]

    /// Creates a target.
    ///
    /// - Parameters:
    ///   - audience: The name of the API. Such a token is had by token exchange only.
    ///   - resources: The APIs, as absolute URIs without a fragment.
    ///   - scopes: What the token may be used for: a part of what the sign-in was granted.
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` if nothing is named, or one of them cannot be sent.
    public init(
        audience: String? = nil, resources: [String] = [], scopes: [String] = []
    ) throws(AccountError) {
        guard audience != nil || !resources.isEmpty || !scopes.isEmpty else {
            throw AccountError(.invalidArgument, "name an audience, a resource or a scope that the token is to be for")
        }
        if let audience, !RequestRules.isAudience(audience) {
            throw AccountError(.invalidArgument, "the audience must not be empty, and has no control characters")
        }
        for resource in resources where !RequestRules.isResource(resource) {
            throw AccountError(
                .invalidArgument,
                "a resource is an absolute URI without a fragment (#…), such as https://api.example.com/ (RFC 8707)")
        }
        for scope in scopes where !RequestRules.isScope(scope) {
            throw AccountError(
                .invalidArgument, "a scope is not empty, and has no space, quotation mark or backslash (RFC 6749)")
        }
        self.init(stored: audience, resources, scopes)
        let texts = [self.audience ?? ""] + self.resources + self.scopes
        guard texts.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumByteCount else {
            throw AccountError(.invalidArgument, "audience, resources and scopes take more than 8 KiB together")
        }
    }

    /// So that what is kept of a derivation fits into an archive.
    private static let maximumByteCount = 8 * 1024

    /// One that was checked when the token was issued.
    init(stored audience: String?, _ resources: [String], _ scopes: [String]) {
        self.audience = audience
        self.resources = Set(resources).sorted()
        self.scopes = Set(scopes).sorted()
    }
}

/// An access token that was derived from a sign-in, and what it is for; see
/// ``AccountStore/accessToken(for:minimumValidity:timeout:with:)``.
public struct DerivedToken: Sendable, Equatable {
    /// What it was asked for.
    public let target: TokenTarget

    /// The access token, and what the service said of it. There is neither a refresh token nor an ID token.
    public internal(set) var credentials: Credentials
}

extension Credentials {
    /// So many tokens are kept beside the main one.
    static let maximumDerivedCount = 16

    /// The longest one that is kept, in bytes; no header holds a longer one.
    static let maximumDerivedByteCount = 16 * 1024

    package func derivedToken(for target: TokenTarget) -> DerivedToken? {
        derivedTokens.first { $0.target == target }
    }

    /// Puts a derived token beside the others, the newest last, and drops those that have expired and those that are too many.
    ///
    /// One that is too long is not kept.
    mutating func keep(_ response: Credentials, for target: TokenTarget, at date: Date) {
        derivedTokens.removeAll { $0.target == target || $0.credentials.expires(within: .zero, of: date) }
        guard response.accessToken.byteCount <= Self.maximumDerivedByteCount else { return }
        var derived = Credentials(
            accessToken: response.accessToken, tokenType: response.tokenType, scopes: response.scopes,
            issuedAt: response.issuedAt, expiresAt: response.expiresAt)
        // An authority may have the date from its service. One that is ahead must not lead to the next derivation.
        if derived.isFromFuture(at: date) { derived.issuedAt = date }
        derivedTokens.append(DerivedToken(target: target, credentials: derived))
        derivedTokens.removeFirst(max(0, derivedTokens.count - Self.maximumDerivedCount))
    }
}
