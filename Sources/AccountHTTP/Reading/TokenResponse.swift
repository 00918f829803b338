import AccountKit

extension ResponseParser {
    /// The tokens of a response of the token endpoint (RFC 6749, section 5.1).
    ///
    /// An optional field of a wrong type counts as missing: the access token is good without it, and a refresh token
    /// that was spent for it cannot be spent again.
    func credentials(in response: ServiceResponse, for clientID: String?) throws(AuthorityError) -> Credentials {
        let object = try responseObject(in: response)
        guard let token = object.secrets["access_token"] else {
            throw .unclear("\(endpoint.name) sent no access_token")
        }
        guard token.withUnsafeBytes({ Self.isToken($0) }) else {
            throw .unclear("\(endpoint.name) sent an access_token with characters that cannot be sent back")
        }
        // A refresh token that was spent for it must not be lost for a member that means nothing there.
        if !isRefresh, let type = object.members["issued_token_type"]?.string, !Self.accessTokenTypes.contains(type) {
            throw .unclear("\(endpoint.name) issued a token that is no access token")
        }
        return Credentials(
            accessToken: token,
            refreshToken: object.secrets["refresh_token"],
            idToken: object.secrets["id_token"],
            tokenType: try tokenType(object.members["token_type"], of: token),
            scopes: scopes(object.members["scope"]),
            clientID: clientID,
            issuedAt: response.receivedAt,
            expiresAt: TokenExpiry.date(expiresIn: object.members["expires_in"], accessToken: token, response: response)
        )
    }

    /// What a token exchange may say that it has issued (RFC 8693, section 3): an access token of any form.
    private static let accessTokenTypes = [
        "urn:ietf:params:oauth:token-type:access_token", "urn:ietf:params:oauth:token-type:jwt",
    ]

    /// Visible ASCII, so that it can be sent in an `Authorization` header field.
    static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { 0x21...0x7E ~= $0 }
    }

    /// Only Bearer is supported; a service that omits the type means it. Others want a proof with each request.
    private func tokenType(_ value: JSONValue?, of token: Secret) throws(AuthorityError) -> String {
        switch value {
        case nil, .null?: return "Bearer"
        case .string(let type)? where type.lowercased() == "bearer": return "Bearer"
        case .string(let type)?:
            let type = ServerText(secrets: text.secrets + [token]).shown(type).map { " (\($0))" } ?? ""
            throw .unclear("the service issues tokens of another type than Bearer\(type), which is not supported")
        default: throw .unclear("\(endpoint.name) sent a token_type that is no string")
        }
    }

    /// One string (RFC 6749, section 3.3), or an array, as some services send it.
    private func scopes(_ value: JSONValue?) -> [String] {
        switch value {
        case .string(let text)?: scopes(in: text)
        case .array(let values)?: values.compactMap(\.string).flatMap { scopes(in: $0) }
        default: []
        }
    }

    /// Scopes are shown to people, so they must repeat no token.
    private func scopes(in text: String) -> [String] {
        Scope.scopes(in: text, separator: quirks.scopeSeparator)
            .filter { !self.text.repeatsSecret($0, notShorterThan: 8) }
    }
}
