import AccountKit
import AccountCrypto
import AccountSupport

extension ResponseParser {
    /// Returns the user in a response. A signed response must not contain another issuer or audience (OpenID Connect
    /// Core, section 5.3.2).
    func identity(
        in response: ServiceResponse, from issuer: Issuer? = nil, for clientID: String? = nil
    ) throws(AuthorityError) -> Identity {
        let response = response.decompressed()
        let isSigned = response.mediaType == "application/jwt"
        let object =
            isSigned ? try signedClaims(in: response, from: issuer, for: clientID) : try object(in: response)
        let others = isSigned ? Identity.protocolClaims : []
        guard let identity = Identity(claims: object, leavingOut: others, quirks: quirks) else {
            throw .unclear("\(endpoint.name) does not identify the user of the token (no \(quirks.subjectClaim))")
        }
        guard let identity = text.passable(identity) else {
            throw .unclear("\(endpoint.name) returned the token as the user")
        }
        return identity
    }

    /// Returns the claims of a signed response. As for an ID token, TLS replaces the signature (OpenID Connect Core,
    /// section 3.1.3.7).
    private func signedClaims(
        in response: ServiceResponse, from issuer: Issuer?, for clientID: String?
    ) throws(AuthorityError) -> JSONObject {
        try checkStatus(of: response)
        guard let token = response.body.withUnsafeBytes({ IDToken(Secret(bytes: $0)) }) else {
            throw .unclear("\(endpoint.name) sent a signed or encrypted response that cannot be read")
        }
        if let issuer, token.claims["iss"] != nil, !token.isIssued(by: issuer) {
            throw .misconfigured("the response from \(endpoint.name) was issued by another service (iss)")
        }
        if let clientID, token.claims["aud"] != nil, !token.isMeant(for: clientID) {
            throw .misconfigured("the response from \(endpoint.name) is for another client (aud)")
        }
        return token.claims
    }
}

extension ServerText {
    /// Returns an identity without claims that repeat a secret, because programs display and print the profile. Returns
    /// `nil` if the ID of the user repeats a secret.
    func passable(_ identity: Identity) -> Identity? {
        guard !repeats(identity.id) else { return nil }
        var identity = identity
        identity.profile.fields = identity.profile.fields.filter { !repeats($0.key) && !repeats($0.value) }
        if let username = identity.username, repeats(username) { identity.username = nil }
        return identity
    }

    private func repeats(_ text: String) -> Bool { repeatsSecret(text, notShorterThan: Self.shortestSecret) }

    private func repeats(_ value: ProfileValue) -> Bool {
        switch value {
        case .string(let text): repeats(text)
        case .array(let values): values.contains { repeats($0) }
        case .dictionary(let members): members.contains { repeats($0.key) || repeats($0.value) }
        case .integer, .real, .boolean, .date, .data, .null: false
        }
    }
}

extension Credentials {
    /// The tokens, which no text of a service may repeat.
    var tokens: [Secret] { [accessToken, refreshToken, idToken].compactMap(\.self) }
}

extension Identity {
    /// Creates an identity from claims. Returns `nil` if the claims do not identify the user. `sub` may be an integer,
    /// because some services number their users. All claims except `sub` and `others` become profile fields, unless the
    /// quirks choose and rename the fields.
    init?(claims: JSONObject, leavingOut others: Set<String> = [], quirks: ServiceQuirks = .standard) {
        let subject: String
        switch claims[quirks.subjectClaim] {
        case .string(let text)? where !text.isEmpty: subject = text
        case .integer(let number)?: subject = String(number)
        default: return nil
        }
        self.init(
            id: subject,
            username: quirks.usernameClaims.lazy.compactMap { claims[$0]?.string }.first { !$0.isEmpty })
        for (claim, value) in claims where claim != quirks.subjectClaim && !others.contains(claim) {
            guard let name = quirks.profileClaims.map({ $0[claim] }) ?? claim else { continue }
            let isFlag = name == "email_verified" || name == "phone_number_verified"
            profile[name] = isFlag ? Self.flag(value) : value.profileValue
        }
    }

    /// Claims about the token, not about the user.
    static let protocolClaims: Set<String> = [
        "iss", "aud", "azp", "exp", "iat", "nbf", "jti", "nonce", "acr", "amr", "auth_time", "at_hash", "c_hash",
        "s_hash", "sid",
    ]

    /// Returns a boolean as a profile value. Some services send it as a string.
    private static func flag(_ value: JSONValue) -> ProfileValue? {
        switch value.string?.lowercased() {
        case "true": .boolean(true)
        case "false": .boolean(false)
        default: value.profileValue
        }
    }
}

extension IDToken {
    var identity: Identity? { Identity(claims: claims, leavingOut: Identity.protocolClaims) }
}
