/// The paths of the endpoints. A path that is `nil` does not exist.
struct Endpoints: Sendable {
    /// The paths of the discovery documents.
    var discovery = ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"]
    var authorization = "/oauth/authorize"
    var token = "/oauth/token"
    /// The endpoint for pushed requests (RFC 9126).
    var pushedAuthorization: String?
    var deviceAuthorization = "/oauth/device_authorization"
    /// The page on which a user approves a sign-in on another device.
    var devicePage = "/device"
    var userInfo = "/oauth/userinfo"
    var revocation: String? = "/oauth/revoke"
    var keys: String? = "/oauth/jwks"
}
