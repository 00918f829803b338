import AccountKit
import AccountSupport

extension ResponseParser {
    /// Reads a token response (RFC 6749, section 5.1), and does not judge it: see ``TokenCheck``. Any 2xx response with an access
    /// token is a success, because the service has spent the refresh token, the code or the password of the request; see
    /// ``ReadableResponse``.
    ///
    /// - Parameter session: The credentials that are refreshed, if any. If the response contains only the next refresh token,
    ///   the result consists of these credentials and this token, and is marked with `Credentials.lacksAccessToken`.
    func credentials(
        in response: ServiceResponse, for clientID: String?, refreshing session: Credentials? = nil
    ) throws(AuthorityError) -> Credentials {
        let response = response.decompressed()
        guard 200..<300 ~= response.status, response.isBodyWhole,
            let readable = ReadableResponse(
                response.body, isCut: response.interruption != nil, secrets: endpoint.secrets)
        else { throw failure(in: response) }
        guard let token = readable.secrets["access_token"], token.withUnsafeBytes({ Self.isToken($0) }) else {
            guard isRefresh, let session, let next = readable.secrets["refresh_token"], !readable.hasError
            else { throw failure(in: response) }
            var credentials = session
            credentials.refreshToken = next
            credentials.lacksAccessToken = true
            return credentials
        }
        // Don't fail a refresh because of a member that has no meaning in its response: the service has already
        // consumed the refresh token.
        if !isRefresh, let type = readable.members["issued_token_type"]?.string, Self.otherTokenTypes.contains(type) {
            throw .unclear("\(endpoint.name) issued a token that is not an access token")
        }
        let type = tokenType(readable.members["token_type"]?.list?.first, of: token)
        var credentials = Credentials(
            accessToken: token,
            refreshToken: readable.secrets["refresh_token"],
            idToken: readable.secrets["id_token"],
            tokenType: type.name,
            scopes: scopes(readable.members["scope"]),
            clientID: clientID,
            issuedAt: response.receivedAt,
            expiresAt: TokenExpiry.date(in: readable.members, accessToken: token, response: response)
        )
        credentials.isOfUnsupportedType = !type.isSupported
        if quirks.namesUserInTokenResponse, let user = readable.members["sub"]?.text, !text.repeatsSecret(user) {
            credentials.user = user
        }
        return credentials
    }

    /// Returns the failure that a response without a usable access token reports.
    private func failure(in response: ServiceResponse) -> AuthorityError {
        if let interruption = response.interruption { return interruption }
        do throws(AuthorityError) {
            let object = try responseObject(in: response)
            guard object.secrets["access_token"] != nil else {
                return .unclear("\(endpoint.name) sent no access_token\(explanation(in: object))")
            }
            return .unclear("\(endpoint.name) sent an access_token that contains invalid characters")
        } catch {
            return error
        }
    }

    /// The types of tokens that are certainly not access tokens (RFC 8693, section 3).
    private static let otherTokenTypes: Set<String> = Set(
        ["id_token", "refresh_token", "saml1", "saml2"].map { "urn:ietf:params:oauth:token-type:" + $0 })

    /// Returns whether the token is visible ASCII, so that it can be sent in an `Authorization` header field.
    static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { 0x21...0x7E ~= $0 }
    }

    /// Returns the token type, and whether AccountKit supports it.
    ///
    /// Many services write the type `Bearer` in other ways, such as `BearerToken`, or leave it empty. So every type means
    /// Bearer, unless it names another protocol, in which each request needs a proof. The type DPoP is supported if the request
    /// had a proof. A missing type means Bearer or, after the refresh of a bound session, DPoP.
    private func tokenType(_ type: String?, of token: Secret) -> (name: String, isSupported: Bool) {
        let words = (type ?? "").lowercased().split { !$0.isLetter && !$0.isNumber }
        if words.isEmpty { return (isProved && isRefresh ? Credentials.boundType : "Bearer", true) }
        if words == ["dpop"] { return (Credentials.boundType, isProved) }
        guard let type, words.contains(where: { Self.otherProtocols.contains(String($0)) }),
            !words.contains(where: { $0.hasPrefix("bearer") })
        else { return ("Bearer", true) }
        return (ServerText(secrets: text.secrets + [token]).shown(type) ?? "unknown", false)
    }

    /// The types of tokens that are useless without a key (OAuth Access Token Types of IANA, and drafts).
    private static let otherProtocols: Set<String> = ["mac", "pop", "dpop", "hotk", "hok", "hawk", "httpsig"]

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
