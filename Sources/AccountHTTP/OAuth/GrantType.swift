/// The values of `grant_type` of a user's session.
enum GrantType {
    /// RFC 6749, section 4.1.
    static let code = "authorization_code"

    /// RFC 6749, section 4.3.
    static let password = "password"

    /// RFC 6749, section 6.
    static let refreshToken = "refresh_token"

    /// RFC 8628, section 3.4.
    static let deviceCode = "urn:ietf:params:oauth:grant-type:device_code"

    /// RFC 8693, section 2.1.
    static let tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
}
