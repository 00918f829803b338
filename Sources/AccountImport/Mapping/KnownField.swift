enum KnownField {
    case accessToken, refreshToken, idToken
    case tokenType, scopes, clientID, issuedAt, expiresAt, expiresIn
    case id, issuer, username
    case nickname, registeredAt, email, emailVerified, picture, groups, points, signatureText, phoneNumber, qqNumber

    /// The keys of the field in the form that ``folded(_:)`` returns, in order of preference.
    var keys: [String] {
        switch self {
        case .accessToken: ["accesstoken", "authtoken", "oauthtoken", "token"]
        case .refreshToken: ["refreshtoken"]
        case .idToken: ["idtoken"]
        case .tokenType: ["tokentype"]
        case .scopes: ["scope", "scopes"]
        case .clientID: ["clientid"]
        case .issuedAt: ["issuedat"]
        case .expiresAt: ["expiresat", "tokenexpiresat", "expirationdate", "expiry"]
        case .expiresIn: ["expiresin"]
        case .id: ["sub", "userid", "id", "uid"]
        case .issuer: ["iss", "issuer"]
        case .username: ["username", "preferredusername", "login"]
        case .nickname: ["nickname"]
        case .registeredAt: ["registeredat", "registertime"]
        case .email: ["email"]
        case .emailVerified: ["emailverified"]
        case .picture: ["picture", "avatarurl"]
        case .groups: ["groups", "groupname"]
        case .points: ["points"]
        case .signatureText: ["signaturetext", "saytext"]
        case .phoneNumber: ["phonenumber", "phone"]
        case .qqNumber: ["qqnumber", "qq"]
        }
    }

    /// Returns a key in lower case without `_`, `-` and `.`, so that `access_token` and `accessToken` are equal.
    static func folded(_ key: String) -> String {
        let ignored = "_-.".utf8
        return String(decoding: key.lowercased().utf8.filter { !ignored.contains($0) }, as: UTF8.self)
    }
}
