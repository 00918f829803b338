import AccountKit

extension KnownService {
    /// The services that AccountKit supports by name.
    public static let all = [github, gitlab, google, microsoft]

    /// GitHub, and GitHub Enterprise Server.
    ///
    /// GitHub supports OAuth without OpenID Connect. It has no discovery document and no ID tokens, uses numeric user
    /// IDs, and issues refresh tokens only to GitHub Apps. The token endpoint returns errors with status 200. For a
    /// revoked or expired token, the API returns 401 "Bad credentials" without a challenge. A program without a secret
    /// can neither exchange a code from the browser nor revoke a token, so AccountKit supports only the device flow.
    ///
    /// Sources: docs.github.com, "Authorizing OAuth apps", "Refreshing user access tokens", "Troubleshooting OAuth app
    /// access token request errors", "Get the authenticated user", "Troubleshooting the REST API" ("Bad credentials").
    public static let github = KnownService(
        name: "github", title: "GitHub", issuer: "https://github.com",
        registrationPage: "https://github.com/settings/developers",
        scopes: ["read:user", "user:email"], hasDiscovery: false,
        endpoints: [
            .token: "/login/oauth/access_token", .userInfo: "https://api.github.com/user",
            .deviceAuthorization: "/login/device/code",
        ],
        endpointsElsewhere: [
            .token: "/login/oauth/access_token", .userInfo: "/api/v3/user", .deviceAuthorization: "/login/device/code",
        ],
        origins: ["https://api.github.com"],
        tokenURLs: ["https://github.com", "https://gist.github.com", "https://ghcr.io"],
        quirks: ServiceQuirks(
            subjectClaim: "id", usernameClaims: ["login"],
            profileClaims: [
                "name": "name", "email": "email", "avatar_url": "picture", "html_url": "profile", "company": "company",
                "location": "location",
            ],
            scopeSeparator: ",",
            signInErrorCodes: [
                "bad_verification_code": .invalidGrant, "incorrect_device_code": .invalidGrant,
                "incorrect_client_credentials": .invalidClient, "device_flow_disabled": .unauthorizedClient,
            ],
            refreshErrorCodes: [
                "bad_refresh_token": .invalidGrant, "incorrect_client_credentials": .invalidClient,
            ],
            clientAuthentication: .post,
            deadTokenResponse: ServiceQuirks.DeadTokenResponse(status: 401, member: "message", value: "Bad credentials")
        ))

    /// GitLab, and self-managed GitLab.
    ///
    /// The discovery document does not always contain the device endpoint. A revocation affects only one token and its
    /// refresh token.
    ///
    /// Sources: docs.gitlab.com, "OAuth 2.0 identity provider API"; doorkeeper, `TokensController#revoke`.
    public static let gitlab = KnownService(
        name: "gitlab", title: "GitLab", issuer: "https://gitlab.com",
        registrationPage: "https://gitlab.com/-/user_settings/applications", scopes: ["openid", "profile", "email"],
        endpoints: [.deviceAuthorization: "/oauth/authorize_device"],
        tokenURLs: ["https://gitlab.com", "https://registry.gitlab.com"], supportsPerGrantRevocation: true)

    /// Google.
    ///
    /// Google issues a refresh token only if the authorization URL requests it, and a second one only if the user
    /// consents again. ID tokens may contain the issuer without its scheme. In the device flow, Google responds to
    /// polls with status 428. Programs have a client secret, which they cannot keep secret.
    ///
    /// Sources: developers.google.com, "OAuth 2.0 for mobile and desktop apps", "OAuth 2.0 for TV and limited-input
    /// device applications", "OpenID Connect".
    public static let google = KnownService(
        name: "google", title: "Google", issuer: "https://accounts.google.com",
        registrationPage: "https://console.cloud.google.com/auth/clients", scopes: ["openid", "profile", "email"],
        origins: [
            "https://oauth2.googleapis.com", "https://openidconnect.googleapis.com", "https://www.googleapis.com",
        ],
        wantsClientSecret: true,
        quirks: ServiceQuirks(
            issuerForm: .schemeOptional, errorStatuses: [400, 401, 403, 428], clientAuthentication: .post,
            authorizationParameters: ["access_type": "offline", "prompt": "consent"]))

    /// Microsoft Entra ID, and personal Microsoft accounts.
    ///
    /// The issuer in documents and ID tokens contains the user's tenant where the configured issuer has `common`,
    /// `organizations` or `consumers`. Microsoft issues refresh tokens only with the scope `offline_access`. Registered
    /// programs use the redirect host `localhost`. Microsoft does not support the revocation of tokens. It refuses requests
    /// with `resource` beside scopes (AADSTS9010010), and names the API in the scopes, such as `api://ID/.default`.
    ///
    /// Sources: learn.microsoft.com, "OpenID Connect on the Microsoft identity platform", "OAuth 2.0 device
    /// authorization grant", "Redirect URI restrictions and limitations".
    public static let microsoft = KnownService(
        name: "microsoft", title: "Microsoft", issuer: "https://login.microsoftonline.com/common/v2.0",
        registrationPage: "https://entra.microsoft.com", scopes: ["openid", "profile", "email", "offline_access"],
        origins: ["https://graph.microsoft.com"],
        quirks: ServiceQuirks(
            issuerForm: .perTenant,
            signInErrorCodes: ["authorization_declined": .accessDenied, "bad_verification_code": .invalidGrant],
            redirectHost: "localhost", refusesResource: true))
}
