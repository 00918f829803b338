import AccountKit
import Logging

/// What an app or a user chose for the sign-ins of an authority, at whichever service.
struct OAuthSettings: Sendable {
    var client: OAuthClient

    /// The scopes of a sign-in; `nil` for the usual ones of the service.
    var scopes: [String]?

    var additionalScopes: [String] = []
    var options = OAuthRequestOptions()

    /// The time limit for a request. For a token request, the limit applies until AccountKit sends the request.
    var timeout: Duration

    /// The time limit for a token request, from its first byte.
    var tokenRequestTimeout: Duration

    var clock: any WallClock
    var logger: Logger?

    /// Adds what the entry of a service requires.
    mutating func follow(_ known: KnownService?) {
        // A client that registers itself chooses the redirect URI.
        if client.identifier != nil { options.redirectURI = options.redirectURI ?? known?.redirectURI }
        if known?.requiresProofs == true { options.bindsTokens = true }
    }

    /// Throws an error if the client or an option is not valid at any service.
    func check() throws(AccountError) {
        try client.check()
        try options.check()
    }
}
