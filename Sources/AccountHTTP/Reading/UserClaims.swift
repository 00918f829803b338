import AccountKit

extension ResponseParser {
    /// The user of a response of the user info endpoint (OpenID Connect Core, section 5.3.2).
    func identity(in response: ServiceResponse) throws(AuthorityError) -> Identity {
        let object = try object(in: response)
        guard var identity = Identity(claims: object, quirks: quirks) else {
            throw .unclear("\(endpoint.name) does not say whose the token is (no \(quirks.subjectClaim))")
        }
        guard !repeatsSecret(identity.id) else {
            throw .unclear("\(endpoint.name) sent the token back as the user")
        }
        // The profile is shown and printed: a token that a service puts there is left out.
        identity.profile.fields = identity.profile.fields.filter { !repeatsSecret($0.key) && !repeatsSecret($0.value) }
        if let username = identity.username, repeatsSecret(username) { identity.username = nil }
        return identity
    }

    private func repeatsSecret(_ text: String) -> Bool { self.text.repeatsSecret(text, notShorterThan: 8) }

    private func repeatsSecret(_ value: ProfileValue) -> Bool {
        switch value {
        case .string(let text): repeatsSecret(text)
        case .array(let values): values.contains { repeatsSecret($0) }
        case .dictionary(let members): members.contains { repeatsSecret($0.key) || repeatsSecret($0.value) }
        case .integer, .real, .boolean, .date, .data: false
        }
    }
}

extension Identity {
    /// `nil` if the claims do not say who the user is. A `sub` may be a whole number: some services number their users.
    ///
    /// All claims but `sub` and `others` become fields of the profile under their own names, unless the quirks choose.
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

    /// About the token, not about the user.
    fileprivate static let protocolClaims: Set<String> = [
        "iss", "aud", "azp", "exp", "iat", "nbf", "jti", "nonce", "acr", "amr", "auth_time", "at_hash", "c_hash",
        "s_hash", "sid",
    ]

    /// A boolean, which some services send as a string.
    private static func flag(_ value: JSONValue) -> ProfileValue? {
        switch value.string?.lowercased() {
        case "true": .boolean(true)
        case "false": .boolean(false)
        default: value.profileValue
        }
    }
}

extension IDToken {
    /// The user that the token names; `nil` if it names none.
    var identity: Identity? { Identity(claims: claims, leavingOut: Identity.protocolClaims) }
}
