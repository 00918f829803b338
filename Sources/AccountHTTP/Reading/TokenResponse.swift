import AccountKit
import AccountSupport

extension ResponseParser {
    /// Parses a token response (RFC 6749, section 5.1), and does not judge it: see ``TokenCheck``. An optional field of the
    /// wrong type counts as missing, because the access token is valid without this field and the refresh token of the
    /// request cannot be used again.
    func credentials(in response: ServiceResponse, for clientID: String?) throws(AuthorityError) -> Credentials {
        let object = try responseObject(in: response)
        guard let token = object.secrets["access_token"] else {
            throw .unclear("\(endpoint.name) sent no access_token")
        }
        guard token.withUnsafeBytes({ Self.isToken($0) }) else {
            throw .unclear("\(endpoint.name) sent an access_token that contains invalid characters")
        }
        // Don't fail a refresh because of a member that has no meaning in its response: the service has already
        // consumed the refresh token.
        if !isRefresh, let type = object.members["issued_token_type"]?.string, !Self.accessTokenTypes.contains(type) {
            throw .unclear("\(endpoint.name) issued a token that is not an access token")
        }
        let type = tokenType(object.members["token_type"], of: token)
        var credentials = Credentials(
            accessToken: token,
            refreshToken: object.secrets["refresh_token"],
            idToken: object.secrets["id_token"],
            tokenType: type.name,
            scopes: scopes(object.members["scope"]),
            clientID: clientID,
            issuedAt: response.receivedAt,
            expiresAt: TokenExpiry.date(in: object.members, accessToken: token, response: response)
        )
        credentials.isOfUnsupportedType = !type.isSupported
        return credentials
    }

    /// The token types that a token exchange may return (RFC 8693, section 3): access tokens of any format.
    private static let accessTokenTypes = [
        "urn:ietf:params:oauth:token-type:access_token", "urn:ietf:params:oauth:token-type:jwt",
    ]

    /// Returns whether the token is visible ASCII, so that it can be sent in an `Authorization` header field.
    static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { 0x21...0x7E ~= $0 }
    }

    /// Returns the token type, and whether AccountKit supports it. The type DPoP requires a proof with each request, so only a
    /// request with a proof can obtain it. A missing type means Bearer or, after the refresh of a bound session, DPoP.
    private func tokenType(_ value: JSONValue?, of token: Secret) -> (name: String, isSupported: Bool) {
        switch value {
        case nil, .null?: return (isProved && isRefresh ? Credentials.boundType : "Bearer", true)
        case .string(let type)? where type.lowercased() == "bearer": return ("Bearer", true)
        case .string(let type)? where type.lowercased() == "dpop": return (Credentials.boundType, isProved)
        case .string(let type)?:
            return (ServerText(secrets: text.secrets + [token]).shown(type) ?? "unknown", false)
        default: return ("unknown", false)
        }
    }

    /// Returns the scopes in a string (RFC 6749, section 3.3), or in an array, which some services send.
    private func scopes(_ value: JSONValue?) -> [String] {
        switch value {
        case .string(let text)?: scopes(in: text)
        case .array(let values)?: values.compactMap(\.string).flatMap { scopes(in: $0) }
        default: []
        }
    }

    /// Returns the scopes in a text, except scopes that repeat a token, because AccountKit shows scopes to users.
    private func scopes(in text: String) -> [String] {
        Scope.scopes(in: text, separator: quirks.scopeSeparator)
            .filter { !self.text.repeatsSecret($0, notShorterThan: 8) }
    }
}
