/// The paths of the endpoints; one that is `nil` does not exist.
struct Endpoints: Sendable {
    /// Where the description of the server is.
    var discovery = ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"]
    var authorization = "/oauth/authorize"
    var token = "/oauth/token"
    var deviceAuthorization = "/oauth/device_authorization"
    /// The page on which a user agrees to the sign-in on a device.
    var devicePage = "/device"
    var userInfo = "/oauth/userinfo"
    var revocation: String? = "/oauth/revoke"
    var keys: String? = "/oauth/jwks"
}
