import AccountKit

extension KnownService {
    /// The services that AccountKit supports by name.
    ///
    /// The entries whose issuer has a fixed host come before those that match by the path only.
    package static let all = [
        github, gitlab, gitea, google, entra, auth0, okta, cognito, atlassian, slack, discord, supabase, huggingFace,
        bluesky, keycloak,
    ]

    /// GitHub, and GitHub Enterprise Server.
    ///
    /// GitHub supports OAuth without OpenID Connect. It has no discovery document and no ID tokens, uses numeric user
    /// IDs, and issues refresh tokens only to GitHub Apps. The token endpoint returns errors with status 200. For a
    /// revoked or expired token, the API returns 401 "Bad credentials" without a challenge. A program without a secret
    /// can neither exchange a code from the browser nor revoke a token, so AccountKit supports only the device flow. Of more
    /// than ten sign-ins of a user, app and scopes, GitHub ends the oldest.
    public static let github = KnownService(
        name: "github", title: "GitHub", issuer: "https://github.com",
        registrationPage: "https://github.com/settings/developers",
        registrationAdvice:
            "Choose GitHub Apps or OAuth Apps, and select Enable Device Flow. Generate no client secret.",
        documentation: "https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps",
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
        endedSessionNote: "of more than ten sign-ins to an app, GitHub ends the oldest",
        // Source: the page of `refreshErrors`.
        unusedTokenLifetime: .seconds(15_897_600),
        quirks: ServiceQuirks(
            subjectClaim: "id", usernameClaims: ["login"],
            profileClaims: [
                "name": "name", "email": "email", "avatar_url": "picture", "html_url": "profile", "company": "company",
                "location": "location",
            ],
            scopeSeparator: ",",
            errors: [
                ErrorMeaning("bad_verification_code", means: "invalid_grant", at: .signIn, source: tokenErrors),
                ErrorMeaning("incorrect_device_code", means: "invalid_grant", at: .signIn, source: deviceErrors),
                ErrorMeaning("device_flow_disabled", means: "unauthorized_client", at: .signIn, source: deviceErrors),
                ErrorMeaning("incorrect_client_credentials", means: "invalid_client", source: tokenErrors),
                ErrorMeaning("bad_refresh_token", means: "invalid_grant", at: .refresh, source: refreshErrors),
            ],
            mayAnswerWithForms: true, clientAuthentication: .post,
            deadTokenResponse: ServiceQuirks.DeadTokenResponse(
                status: 401, member: "message", values: ["Bad credentials"],
                source: "https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api")))

    private static let tokenErrors =
        "https://docs.github.com/en/apps/oauth-apps/maintaining-oauth-apps/"
        + "troubleshooting-oauth-app-access-token-request-errors"
    private static let deviceErrors =
        "https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#error-codes-for-the-device-flow"
    private static let refreshErrors =
        "https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/refreshing-user-access-tokens"

    /// GitLab, and self-managed GitLab.
    ///
    /// The discovery document does not always contain the device endpoint. A revocation affects only one token and its
    /// refresh token. Errors of the token endpoint also have a challenge (Doorkeeper); the body decides.
    public static let gitlab = KnownService(
        name: "gitlab", title: "GitLab", issuer: "https://gitlab.com",
        registrationPage: "https://gitlab.com/-/user_settings/applications",
        registrationAdvice:
            "Enter the redirect URI http://127.0.0.1/callback, deselect Confidential, and select the scopes openid, profile and email.",
        documentation: "https://docs.gitlab.com/api/oauth2/",
        endpoints: [.deviceAuthorization: "/oauth/authorize_device"],
        tokenURLs: ["https://gitlab.com", "https://registry.gitlab.com"], supportsPerGrantRevocation: true)

    /// Codeberg, and other instances of Gitea and Forgejo.
    ///
    /// An instance may let each refresh token be used once (`INVALIDATE_REFRESH_TOKENS`), and then answers
    /// `unauthorized_client` to a used one. There is no revocation endpoint and no device flow. Public clients may use any
    /// port of the loopback address.
    public static let gitea = KnownService(
        name: "gitea", otherNames: ["codeberg", "forgejo"], title: "Codeberg (Gitea, Forgejo)",
        issuer: "https://codeberg.org", registrationPage: "https://codeberg.org/user/settings/applications",
        registrationAdvice:
            "Create an OAuth2 application with the redirect URI http://127.0.0.1/callback, and deselect Confidential Client.",
        documentation: "https://docs.gitea.com/development/oauth2-provider",
        tokenURLs: ["https://codeberg.org"],
        quirks: ServiceQuirks(errors: [
            ErrorMeaning(
                "unauthorized_client", means: ErrorMeaning.needsUser, at: .refresh, if: "error_description",
                is: ["token was already used"],
                source: "https://github.com/go-gitea/gitea/blob/main/routers/web/auth/oauth2_provider.go")
        ]))

    /// Google.
    ///
    /// Google issues a refresh token only if the authorization URL requests it, and a second one only if the user
    /// consents again; it does not know the scope `offline_access`. ID tokens may contain the issuer without its scheme. In
    /// the device flow, Google responds to polls with status 428. Programs have a client secret, which they cannot keep secret.
    /// A Google Workspace can require another sign-in after some hours; the refresh token stays valid.
    public static let google = KnownService(
        name: "google", title: "Google", issuer: "https://accounts.google.com",
        registrationPage: "https://console.cloud.google.com/auth/clients",
        registrationAdvice:
            "Create a client of the type Desktop app or, for a sign-in on another device, TVs and Limited Input devices.",
        documentation: "https://developers.google.com/identity/protocols/oauth2/native-app",
        origins: [
            "https://oauth2.googleapis.com", "https://openidconnect.googleapis.com", "https://www.googleapis.com",
        ],
        wantsClientSecret: true,
        quirks: ServiceQuirks(
            issuerForm: .schemeOptional,
            errors: [
                ErrorMeaning(
                    "invalid_grant", means: ErrorMeaning.needsUser, at: .refresh, if: "error_subtype",
                    is: ["invalid_rapt"],
                    source: "https://github.com/googleapis/google-auth-library-nodejs/issues/1961"),
                ErrorMeaning(
                    "deleted_client", means: "invalid_client",
                    source: "https://developers.google.com/identity/protocols/oauth2/native-app"),
                ErrorMeaning(
                    "admin_policy_enforced", means: "access_denied", at: .signIn,
                    source: "https://developers.google.com/identity/protocols/oauth2/limited-input-device"),
            ],
            errorStatuses: [400, 401, 403, 428], clientAuthentication: .post,
            authorizationParameters: ["access_type": "offline", "prompt": "consent"]))

    /// Microsoft Entra ID, each tenant of it, and personal Microsoft accounts.
    ///
    /// The issuer in documents and ID tokens contains the user's tenant where the configured issuer has `common`,
    /// `organizations` or `consumers`. Microsoft issues refresh tokens only with the scope `offline_access`. Registered
    /// programs use the redirect host `localhost`. Microsoft does not support the revocation of tokens. It refuses requests
    /// with `resource` beside scopes (AADSTS9010010), and names the API in the scopes, such as `api://ID/.default`. The
    /// metadata do not list S256. A `suberror`, or `claims`, beside `invalid_grant` says that only the user must act.
    public static let entra = KnownService(
        name: "entra", otherNames: ["microsoft"], title: "Microsoft Entra",
        issuer: "https://login.microsoftonline.com/common/v2.0",
        issuerForms: [
            "https://login.microsoftonline.com/TENANT/v2.0", "https://login.microsoftonline.us/TENANT/v2.0",
            "https://login.partner.microsoftonline.cn/TENANT/v2.0", "https://login.chinacloudapi.cn/TENANT/v2.0",
            "https://TENANT.ciamlogin.com/TENANT/v2.0",
        ],
        registrationPage: "https://entra.microsoft.com",
        registrationAdvice:
            "Register an app, and add the platform Mobile and desktop applications with the redirect URI http://localhost/callback.",
        documentation: "https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow",
        scopes: ["openid", "profile", "email", "offline_access"],
        origins: ["https://graph.microsoft.com"],
        quirks: ServiceQuirks(
            issuerForm: .perTenant,
            errors: [
                ErrorMeaning("authorization_declined", means: "access_denied", at: .signIn, source: entraDevice),
                ErrorMeaning("bad_verification_code", means: "invalid_grant", at: .signIn, source: entraDevice),
                ErrorMeaning(
                    "invalid_grant", means: ErrorMeaning.needsUser, at: .refresh, if: "suberror",
                    isNot: ["bad_token", "token_expired"],
                    source: "https://github.com/AzureAD/microsoft-authentication-library-for-dotnet/issues/1720"),
                ErrorMeaning(
                    "invalid_grant", means: ErrorMeaning.needsUser, at: .refresh, if: "claims",
                    source: "https://learn.microsoft.com/entra/msal/dotnet/advanced/exceptions/msal-error-handling"),
            ],
            redirectHost: "localhost", refusesResource: true, supportsPKCE: true))

    private static let entraDevice = "https://learn.microsoft.com/entra/identity-platform/v2-oauth2-device-code"

    /// Auth0.
    ///
    /// A token for an API needs `audience`. Refresh tokens rotate if the tenant says so, with a grace period that the tenant
    /// sets; reuse after it ends all tokens of the sign-in. Polls are answered with 403 and 429. The port of the redirect URI
    /// counts.
    public static let auth0 = KnownService(
        name: "auth0", title: "Auth0", issuer: "https://TENANT.auth0.com",
        issuerForms: ["https://TENANT.LOCATION.auth0.com"],
        registrationPage: "https://manage.auth0.com/dashboard",
        registrationAdvice:
            "Create an application of the type Native with the callback URL http://127.0.0.1:8400/callback.",
        documentation: "https://auth0.com/docs/get-started/authentication-and-authorization-flow",
        scopes: ["openid", "profile", "email", "offline_access"], redirectURI: fixedRedirectURI)

    private static let fixedRedirectURI = "http://127.0.0.1:8400/callback"

    /// Okta: the authorization server of an organization, and those under `/oauth2`.
    ///
    /// Refresh tokens are persistent or rotate, with a grace period of up to a minute. The port of the redirect URI counts. A
    /// rate limit has only `X-Rate-Limit-Reset`.
    public static let okta = KnownService(
        name: "okta", title: "Okta", issuer: "https://ORG.okta.com",
        issuerForms: ["https://ORG.oktapreview.com", "https://ORG.okta-emea.com", "https://ORG.okta-gov.com"],
        registrationPage: "https://login.okta.com",
        registrationAdvice:
            "Create a native OIDC app integration with the redirect URI http://127.0.0.1:8400/callback and the grant Refresh Token.",
        documentation: "https://developer.okta.com/docs/reference/api/oidc/",
        scopes: ["openid", "profile", "email", "offline_access"], redirectURI: fixedRedirectURI)

    /// Amazon Cognito.
    ///
    /// The issuer is at another host than the endpoints. The metadata do not list S256, and the service has neither
    /// `offline_access` nor a device flow. It accepts `http` only for the redirect host `localhost`, and compares the port. A
    /// refresh returns no refresh token, unless the pool rotates them.
    public static let cognito = KnownService(
        name: "cognito", title: "Amazon Cognito", issuer: "https://cognito-idp.REGION.amazonaws.com/POOL",
        issuerForms: ["https://cognito-idp-fips.REGION.amazonaws.com/POOL"],
        registrationPage: "https://console.aws.amazon.com/cognito/v2/idp/user-pools",
        registrationAdvice:
            "Create an app client without a secret, with the callback URL http://localhost:8400/callback.",
        documentation: "https://docs.aws.amazon.com/cognito/latest/developerguide/token-endpoint.html",
        scopes: ["openid", "profile", "email"], origins: ["https://DOMAIN.auth.REGION.amazoncognito.com"],
        redirectURI: "http://localhost:8400/callback", supportsPerGrantRevocation: true,
        quirks: ServiceQuirks(
            usernameClaims: ["preferred_username", "username", "cognito:username"], supportsPKCE: true))

    /// Atlassian: Jira, Confluence and other products in the cloud.
    ///
    /// OAuth without OpenID Connect: there is no discovery document, and the user is at `/me`. Refresh tokens rotate; the old
    /// access and refresh tokens stay valid for ten minutes. A dead refresh token gets 403. Programs have a client secret.
    public static let atlassian = KnownService(
        name: "atlassian", title: "Atlassian", issuer: "https://auth.atlassian.com",
        registrationPage: "https://developer.atlassian.com/console/myapps/",
        registrationAdvice:
            "Create an OAuth 2.0 integration with the callback URL http://127.0.0.1:8400/callback and the User identity API.",
        documentation: "https://developer.atlassian.com/cloud/jira/platform/oauth-2-3lo-apps/",
        scopes: ["read:me", "offline_access"], hasDiscovery: false,
        endpoints: [
            .authorization: "/authorize", .token: "/oauth/token", .userInfo: "https://api.atlassian.com/me",
        ],
        endpointsElsewhere: [.authorization: "/authorize", .token: "/oauth/token", .userInfo: "/me"],
        origins: ["https://api.atlassian.com"], wantsClientSecret: true, redirectURI: fixedRedirectURI,
        quirks: ServiceQuirks(
            subjectClaim: "account_id", usernameClaims: ["nickname", "email"],
            errors: [
                ErrorMeaning(
                    "unauthorized_client", means: ErrorMeaning.needsUser, at: .refresh, if: "error_description",
                    is: ["refresh_token is invalid"],
                    source: "https://community.developer.atlassian.com/t/refresh-token-is-invalid/48183")
            ],
            clientAuthentication: .post,
            authorizationParameters: ["audience": "api.atlassian.com", "prompt": "consent"]))

    /// Slack, for the identity of a user ("Sign in with Slack").
    ///
    /// Errors have status 200 and `"ok": false`, also those of user info. A `token_type` may be `user` or `bot`. Tokens expire
    /// only for apps that rotate them. A program without a secret needs an app with PKCE.
    public static let slack = KnownService(
        name: "slack", title: "Slack", issuer: "https://slack.com",
        registrationPage: "https://api.slack.com/apps",
        registrationAdvice:
            "Create an app, enable PKCE, and add the redirect URL http://localhost:8400/callback.",
        documentation: "https://docs.slack.dev/authentication/using-token-rotation",
        redirectURI: "http://localhost:8400/callback",
        quirks: ServiceQuirks(
            errors: [
                ErrorMeaning("invalid_refresh_token", means: "invalid_grant", at: .refresh, source: slackErrors),
                ErrorMeaning("invalid_code", means: "invalid_grant", at: .signIn, source: slackErrors),
                ErrorMeaning("code_already_used", means: "invalid_grant", at: .signIn, source: slackErrors),
                ErrorMeaning("bad_client_secret", means: "invalid_client", source: slackErrors),
                ErrorMeaning("invalid_client_id", means: "invalid_client", source: slackErrors),
                ErrorMeaning("bad_redirect_uri", means: "redirect_uri_mismatch", at: .signIn, source: slackErrors),
            ],
            clientAuthentication: .post,
            deadTokenResponse: ServiceQuirks.DeadTokenResponse(
                status: 200, member: "error", values: ["token_revoked", "token_expired", "account_inactive"],
                source: "https://docs.slack.dev/reference/methods/openid.connect.userInfo")))

    private static let slackErrors = "https://docs.slack.dev/reference/methods/oauth.v2.access"

    /// Discord.
    ///
    /// OAuth without OpenID Connect: the user is at `/users/@me`. A dead refresh token may get `invalid_request`, which also
    /// means other things, so it does not end the session. Revoking a token ends all sign-ins of the user and app. Discord
    /// locks out an address after 10,000 invalid requests in ten minutes, and sends the pause in `retry_after`.
    public static let discord = KnownService(
        name: "discord", title: "Discord", issuer: "https://discord.com",
        registrationPage: "https://discord.com/developers/applications",
        registrationAdvice:
            "Under OAuth2, select Public Client, and add the redirect http://127.0.0.1:8400/callback.",
        documentation: "https://docs.discord.com/developers/topics/oauth2",
        scopes: ["identify", "email"],
        endpoints: [.userInfo: "/api/users/@me"],
        redirectURI: fixedRedirectURI,
        quirks: ServiceQuirks(
            subjectClaim: "id", usernameClaims: ["username"],
            profileClaims: ["global_name": "name", "email": "email", "verified": "email_verified", "locale": "locale"]))

    /// Supabase Auth as an OAuth 2.1 server, in each project, and the Management API of Supabase.
    ///
    /// Refresh tokens rotate; the old one stays valid for ten seconds. The redirect URI is compared exactly. PKCE is required.
    public static let supabase = KnownService(
        name: "supabase", title: "Supabase", issuer: "https://PROJECT.supabase.co/auth/v1",
        registrationPage: "https://supabase.com/dashboard/project/_/auth/oauth-apps",
        registrationAdvice:
            "Enable the OAuth server, and add a public app with the redirect URI http://127.0.0.1:8400/callback.",
        documentation: "https://supabase.com/docs/guides/auth/oauth-server",
        redirectURI: fixedRedirectURI)

    /// Hugging Face.
    ///
    /// A sign-in with the browser gets no refresh token, and one with a device code does.
    public static let huggingFace = KnownService(
        name: "huggingface", otherNames: ["hf"], title: "Hugging Face", issuer: "https://huggingface.co",
        registrationPage: "https://huggingface.co/settings/applications/new",
        registrationAdvice:
            "Create a public app with the redirect URL http://localhost:8400/callback.",
        documentation: "https://huggingface.co/docs/hub/oauth", tokenURLs: ["https://huggingface.co"],
        redirectURI: "http://localhost:8400/callback")

    /// Bluesky, and other servers of the AT Protocol.
    ///
    /// Requests are pushed (RFC 9126), tokens are bound to a key, proofs need a nonce, and the client ID is the URL of a metadata
    /// document. There is no OpenID Connect, and the token response names the user. A refusal of a nonce may spend the refresh token.
    public static let bluesky = KnownService(
        name: "bluesky", otherNames: ["atproto"], title: "Bluesky", issuer: "https://bsky.social",
        registrationPage: "https://docs.bsky.app/docs/advanced-guides/oauth-client",
        registrationAdvice:
            "Publish a metadata document with the redirect URI http://127.0.0.1/callback. Its URL is the client ID.",
        documentation: "https://atproto.com/specs/oauth",
        scopes: ["atproto", "transition:generic"], requiresProofs: true,
        quirks: ServiceQuirks(mayRefuseSpentToken: true, namesUserInTokenResponse: true))

    /// Keycloak, on any host.
    ///
    /// Revoking a refresh token ends the session of the client. `refresh_expires_in` is 0 for offline sessions, and is not
    /// used. The path of old versions begins with `/auth`.
    public static let keycloak = KnownService(
        name: "keycloak", title: "Keycloak", issuer: "https://HOST/realms/REALM",
        issuerForms: ["https://HOST/auth/realms/REALM"],
        registrationPage: "https://www.keycloak.org/docs/latest/server_admin/#_oidc_clients",
        registrationAdvice:
            "Create an OpenID Connect client without client authentication, with the redirect URI http://127.0.0.1/callback.",
        documentation: "https://www.keycloak.org/securing-apps/oidc-layers")
}
