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
    /// because some services number their users. The standard claims get their standard type. All claims except `sub` and
    /// `others` become profile fields, unless the quirks choose and rename the fields.
    init?(claims: JSONObject, leavingOut others: Set<String> = [], quirks: ServiceQuirks = .standard) {
        guard let subject = claims[quirks.subjectClaim]?.text, !subject.isEmpty else { return nil }
        self.init(
            id: subject,
            username: quirks.usernameClaims.lazy.compactMap { claims[$0]?.text }.first { !$0.isEmpty })
        for (claim, value) in claims where claim != quirks.subjectClaim && !others.contains(claim) {
            guard let name = quirks.profileClaims.map({ $0[claim] }) ?? claim else { continue }
            profile[name] = Self.standardValue(value, of: name) ?? value.profileValue
        }
    }

    /// Claims about the token, not about the user.
    static let protocolClaims: Set<String> = [
        "iss", "aud", "azp", "exp", "iat", "nbf", "jti", "nonce", "acr", "amr", "auth_time", "at_hash", "c_hash",
        "s_hash", "sid",
    ]

    /// Returns a claim in the type of OpenID Connect Core, section 5.1; `nil` for other claims, and for a value with another
    /// meaning.
    private static func standardValue(_ value: JSONValue, of claim: String) -> ProfileValue? {
        switch claim {
        case "email_verified", "phone_number_verified": value.flag.map { .boolean($0) }
        case "name", "nickname", "preferred_username", "email", "phone_number", "picture":
            value.text.map { .string($0) }
        case "updated_at": value.date.flatMap { Int64(exactly: $0.timeIntervalSince1970) }.map { .integer($0) }
        default: nil
        }
    }
}

extension IDToken {
    var identity: Identity? { Identity(claims: claims, leavingOut: Identity.protocolClaims) }
}
