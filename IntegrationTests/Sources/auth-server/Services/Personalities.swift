import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Personality {
    /// The services that the server imitates.
    static let all = [
        github, githubApp, gitlab, gitea, google, entra, auth0, okta, keycloak, cognito, atlassian, slack, discord,
        supabase, huggingFace, bluesky, linear,
    ]

    static func named(_ name: String) -> Personality? { all.first { $0.name == name } }

    // MARK: GitHub

    /// GitHub, as an Enterprise Server on a separate host: no OpenID Connect, no discovery, forms unless the client requests
    /// JSON, and status 200 for every error of the OAuth endpoints.
    static let github = Personality(
        name: "github",
        sources: [
            "https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps",
            "https://docs.github.com/en/apps/oauth-apps/maintaining-oauth-apps/"
                + "troubleshooting-oauth-app-access-token-request-errors",
            "https://docs.github.com/en/rest/authentication/authenticating-to-the-rest-api",
        ],
        endpoints: Endpoints(
            discovery: [], authorization: "/login/oauth/authorize", token: "/login/oauth/access_token",
            deviceAuthorization: "/login/device/code", devicePage: "/login/device", userInfo: "/api/v3/user",
            revocation: nil, keys: nil),
        namesIssuerInResponses: false, grantTypes: [.authorizationCode, .deviceCode],
        scope: Scope(names: ["read:user", "user:email", "user", "read:org", "repo", "gist", "workflow"]),
        usualScope: Scope(names: ["read:user", "user:email"]), secretGrants: [.authorizationCode],
        refreshTokens: .never, accessTokenPrefix: "gho_", refreshTokenPrefix: "ghr_", tokensExpire: false,
        rotation: .spendsBoth, detectsReuse: false, signInLimit: 10, scopeSeparator: ",",
        addedToTokenResponse: ["token_type": "bearer"], omittedFromDeviceResponse: ["verification_uri_complete"],
        profile: { user, scope in
            gitHubProfile(user, seesEmail: scope.contains("user:email") || scope.contains("user"))
        },
        requiresUserAgent: true, allowsGists: { $0.contains("gist") },
        errors: [
            ErrorForm(.invalidClient, as: "incorrect_client_credentials"),
            ErrorForm(.invalidGrant, .deviceCode, as: "incorrect_device_code"),
            ErrorForm(.invalidGrant, .refreshToken, as: "bad_refresh_token"),
            ErrorForm(.invalidGrant, .code, as: "bad_verification_code"),
        ],
        changeError: { error, response in
            (response.status, response.challenge) = (.ok, nil)
            response.body?["error_uri"] = .string(gitHubDocumentation)
            response.body?["interval"] = error.interval.map { .integer($0) }
        },
        challenge: {
            ErrorResponse(
                status: .unauthorized,
                body: gitHubMessage($0.code == nil ? "Requires authentication" : "Bad credentials", status: 401))
        },
        notFound: gitHubMessage("Not Found", status: 404), encodesForms: true)

    /// A GitHub App, whose tokens expire. Its access tokens are as long as the tokens of installations since 2026.
    ///
    /// Sources:
    /// https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/refreshing-user-access-tokens
    /// https://github.blog/changelog/2026-04-24-notice-about-upcoming-new-format-for-github-app-installation-tokens/
    static let githubApp: Personality = {
        var app = github
        app.name = "github-app"
        app.grantTypes = [.authorizationCode, .deviceCode, .refreshToken]
        (app.refreshTokens, app.tokensExpire, app.lifetime) = (.always, true, 28_800)
        // `ghs_`, the number of the app, and a JSON Web Token of a length that varies: about 520 characters in total.
        app.accessTokenPrefix =
            "ghs_1521473_eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9." + String(repeating: "eyJpc3Mi-_", count: 43) + "."
        app.signInLimit = nil
        app.addedToTokenResponse = [
            "token_type": "bearer", "scope": "", "refresh_token_expires_in": .integer(15_897_600),
        ]
        app.profile = { user, _ in gitHubProfile(user, seesEmail: true) }
        app.allowsGists = { _ in true }
        return app
    }()

    private static let gitHubDocumentation = "https://docs.github.com"

    private static func gitHubMessage(_ text: String, status: Int) -> JSONObject {
        [
            "message": .string(text), "documentation_url": .string(gitHubDocumentation),
            "status": .string(String(status)),
        ]
    }

    /// alice's number is 583231. Other users' numbers follow from their own numbers.
    ///
    /// Source: https://docs.github.com/en/rest/users/users
    private static func gitHubProfile(_ user: User, seesEmail: Bool) -> JSONObject {
        let firstID = 582_230
        return [
            "login": .string(user.username), "id": .integer(firstID + user.id),
            "node_id": .string("U_\(firstID + user.id)"), "type": "User", "name": .string(user.name),
            "email": seesEmail ? .string(user.email) : .null, "avatar_url": .string(user.picture),
            "html_url": .string("https://example.org/\(user.username)"),
        ]
    }

    // MARK: GitLab, Gitea

    /// GitLab, which is built on Doorkeeper: errors of the token endpoint have a Bearer challenge, and a spent refresh token
    /// stays valid until the client uses the new access token, if the table has the column `previous_refresh_token`.
    static let gitlab = Personality(
        name: "gitlab",
        sources: [
            "https://docs.gitlab.com/api/oauth2/", "https://gitlab.com/gitlab-org/gitlab/-/issues/454286",
            "https://github.com/doorkeeper-gem/doorkeeper/blob/main/lib/generators/doorkeeper/templates/migration.rb.erb",
        ],
        endpoints: Endpoints(
            deviceAuthorization: "/oauth/authorize_device", devicePage: "/oauth/device", keys: "/oauth/discovery/keys"),
        namesIssuerInResponses: false,
        addedToDiscovery: ["token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"]],
        scope: Scope(names: ["openid", "profile", "email", "read_user", "read_api", "api"]),
        rotation: .spendsBothAtFirstUse, detectsReuse: false, subject: { String($0.id) },
        changeError: { error, response in response.challenge = doorkeeper(error.code.rawValue, error.explanation) },
        challenge: { challenge in
            var response = challenge.standardResponse
            response.challenge = doorkeeper(
                challenge.code?.rawValue ?? "invalid_token", challenge.code == nil ? "no token" : challenge.explanation)
            return response
        },
        answers: [
            ServiceAnswer(
                name: "challenge", status: 401,
                headers: ["WWW-Authenticate": doorkeeper("invalid_token", "The access token is invalid")],
                body: #"{"error":"invalid_grant","error_description":"The provided authorization grant is invalid"}"#,
                source: "https://github.com/hickford/git-credential-oauth/issues/2")
        ])

    private static func doorkeeper(_ code: String, _ explanation: String) -> String {
        #"Bearer realm="Doorkeeper", error="\#(code)", error_description="\#(explanation)""#
    }

    /// Gitea and Forgejo with `INVALIDATE_REFRESH_TOKENS`.
    static let gitea = Personality(
        name: "gitea", sources: ["https://docs.gitea.com/development/oauth2-provider"],
        endpoints: Endpoints(
            discovery: ["/.well-known/openid-configuration"], authorization: "/login/oauth/authorize",
            token: "/login/oauth/access_token", userInfo: "/login/oauth/userinfo", revocation: nil,
            keys: "/login/oauth/keys"),
        namesIssuerInResponses: false, omittedFromDiscovery: ["device_authorization_endpoint"],
        grantTypes: [.authorizationCode, .refreshToken],
        scope: Scope(names: ["openid", "profile", "email", "groups"]), detectsReuse: false,
        addedToTokenResponse: ["token_type": "bearer"], subject: { String($0.id) },
        errors: [
            ErrorForm(
                .invalidGrant, .spentRefreshToken, as: "unauthorized_client", description: "token was already used"),
            ErrorForm(
                .invalidGrant, .refreshToken, as: "unauthorized_client", description: "unable to parse refresh token"),
        ])

    // MARK: Google

    /// Google: a secret from clients that cannot keep one, nonstandard statuses, and an issuer with two spellings.
    static let google = Personality(
        name: "google",
        sources: [
            "https://developers.google.com/identity/protocols/oauth2/limited-input-device",
            "https://developers.google.com/identity/openid-connect/openid-connect#validatinganidtoken",
        ],
        endpoints: Endpoints(discovery: ["/.well-known/openid-configuration"]),
        addedToDiscovery: [
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            "code_challenge_methods_supported": ["plain", "S256"],
        ],
        grantTypes: [.authorizationCode, .refreshToken, .deviceCode],
        scope: Scope(names: ["openid", "profile", "email"]),
        secretGrants: Set(TokenRoutes.GrantType.allCases), refreshTokens: .parameter("access_type", "offline"),
        rotation: .off, refusesToRevokeUnknownTokens: true,
        idTokenClaims: { claims, origin in claims.merging(["iss": .string(origin.authority)]) { _, new in new } },
        omittedFromDeviceResponse: ["verification_uri_complete"],
        renamedInDeviceResponse: ["verification_uri": "verification_url"],
        errors: [
            ErrorForm(.authorizationPending, status: 428), ErrorForm(.slowDown, status: 403),
            ErrorForm(.accessDenied, status: 403), ErrorForm(.invalidClient, isBare: true),
            ErrorForm(.invalidToken, isBare: true),
        ],
        answers: [
            ServiceAnswer(
                name: "reauthentication",
                body:
                    #"{"error":"invalid_grant","error_subtype":"invalid_rapt","error_description":"reauth related error"}"#,
                source: "https://github.com/googleapis/google-auth-library-nodejs/issues/1961")
        ])

    // MARK: Entra

    /// The tenant of personal accounts.
    ///
    /// Source: https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
    static let entraTenant = "9122040d-6c67-4c5b-b112-36a304b66dad"

    /// Microsoft Entra, for accounts of any tenant, whose issuer in discovery contains a placeholder, and for one tenant.
    static let entra = Personality(
        name: "entra",
        sources: [
            "https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc",
            "https://learn.microsoft.com/entra/identity-platform/v2-oauth2-device-code",
            "https://learn.microsoft.com/entra/identity-platform/reply-url",
            "https://learn.microsoft.com/entra/identity-platform/reference-error-codes",
        ],
        endpoints: Endpoints(
            discovery: [entraDocument, "/\(entraTenant)/v2.0/.well-known/openid-configuration"],
            authorization: "/common/oauth2/v2.0/authorize", token: "/common/oauth2/v2.0/token",
            deviceAuthorization: "/common/oauth2/v2.0/devicecode", devicePage: "/common/oauth2/deviceauth",
            userInfo: "/oidc/userinfo", revocation: nil, keys: "/common/discovery/v2.0/keys"),
        issuerPath: "/\(entraTenant)/v2.0", discoveredIssuerPaths: [entraDocument: "/{tenantid}/v2.0"],
        namesIssuerInResponses: false, redirectHosts: ["localhost"],
        omittedFromDiscovery: ["code_challenge_methods_supported"],
        addedToDiscovery: ["token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"]],
        scope: Scope(names: ["openid", "profile", "email", "offline_access", "User.Read", "api://notes/.default"]),
        usualScope: Scope(names: ["openid", "profile", "email"]),
        check: {
            guard $0["resource"] == nil else {
                throw OAuthError(.invalidTarget, "AADSTS9010010: the resource does not match the scopes")
            }
        },
        refreshTokens: .scope("offline_access"), rotation: .keepsOld, apiScopePrefix: "api://",
        textsInTokenResponse: ["expires_in"],
        idTokenClaims: { claims, _ in
            claims.merging(["tid": .string(entraTenant), "ver": "2.0"]) { _, new in new }
        },
        omittedFromDeviceResponse: ["verification_uri_complete"],
        addedToDeviceResponse: ["message": "Open the page in a browser and enter the code to sign in."],
        changeError: { error, response in
            let (code, number) = entraCodes(of: error)
            (response.status, response.challenge) = (.badRequest, nil)
            response.body = [
                "error": .string(code),
                "error_description": .string("AADSTS\(number): \(error.explanation). Trace ID: \(UUID().uuidString)"),
                "error_codes": [.integer(number)], "trace_id": .string(UUID().uuidString),
                "correlation_id": .string(UUID().uuidString),
            ]
        },
        answers: ["basic_action", "additional_action", "consent_required", "bad_token"].map {
            ServiceAnswer(
                name: $0,
                body:
                    #"{"error":"invalid_grant","suberror":"\#($0)","error_codes":[50076],"error_description":"AADSTS50076"}"#,
                source: "https://github.com/AzureAD/microsoft-authentication-library-for-dotnet/issues/1720")
        })

    private static let entraDocument = "/common/v2.0/.well-known/openid-configuration"

    private static func entraCodes(of error: OAuthError) -> (String, Int) {
        switch (error.code, error.credential) {
        case (.invalidGrant, .deviceCode): ("bad_verification_code", 70_018)
        case (.invalidGrant, .password): ("invalid_grant", 50_126)
        case (.invalidGrant, .refreshToken), (.invalidGrant, .spentRefreshToken): ("invalid_grant", 700_082)
        case (.invalidGrant, _): ("invalid_grant", 70_008)
        case (.accessDenied, _): ("authorization_declined", 65_004)
        case (.authorizationPending, _): ("authorization_pending", 70_016)
        case (.expiredToken, _): ("expired_token", 70_020)
        case (.invalidScope, _): ("invalid_scope", 70_011)
        case (.invalidTarget, _): ("invalid_target", 9_010_010)
        case (.unsupportedGrantType, _): ("unsupported_grant_type", 70_003)
        case (.invalidClient, _): ("unauthorized_client", 700_016)
        default: (error.code.rawValue, 900_144)
        }
    }

    // MARK: Identity services

    static let auth0 = Personality(
        name: "auth0",
        sources: ["https://auth0.com/docs/get-started/authentication-and-authorization-flow/device-authorization-flow"],
        endpoints: Endpoints(
            discovery: ["/.well-known/openid-configuration"], authorization: "/authorize",
            deviceAuthorization: "/oauth/device/code", devicePage: "/activate", userInfo: "/userinfo",
            keys: "/.well-known/jwks.json"),
        scope: Scope(names: ["openid", "profile", "email", "offline_access"]), refreshTokens: .scope("offline_access"),
        errors: [
            ErrorForm(.authorizationPending, status: 403), ErrorForm(.slowDown, status: 429),
            ErrorForm(.expiredToken, status: 403), ErrorForm(.accessDenied, status: 403),
            ErrorForm(.invalidGrant, status: 403, description: "Unknown or invalid refresh token."),
        ])

    /// A custom authorization server of an organization, with persistent refresh tokens.
    static let okta = Personality(
        name: "okta", sources: ["https://developer.okta.com/docs/reference/api/oidc/"],
        endpoints: Endpoints(
            discovery: [
                "/oauth2/default/.well-known/openid-configuration",
                "/.well-known/oauth-authorization-server/oauth2/default",
            ],
            authorization: "/oauth2/default/v1/authorize", token: "/oauth2/default/v1/token",
            deviceAuthorization: "/oauth2/default/v1/device/authorize", devicePage: "/activate",
            userInfo: "/oauth2/default/v1/userinfo", revocation: "/oauth2/default/v1/revoke",
            keys: "/oauth2/default/v1/keys"),
        issuerPath: "/oauth2/default",
        scope: Scope(names: ["openid", "profile", "email", "offline_access"]), refreshTokens: .scope("offline_access"),
        rotation: .off,
        errors: [
            ErrorForm(.invalidGrant, .refreshToken, description: "The refresh token is invalid or expired.")
        ],
        answers: [
            ServiceAnswer(
                name: "rate-limit", status: 429, headers: ["X-Rate-Limit-Remaining": "0", "X-Rate-Limit-Reset": "30"],
                body: #"{"errorCode":"E0000047","errorSummary":"API call exceeded rate limit"}"#,
                source: "https://developer.okta.com/docs/reference/rl-best-practices/")
        ])

    static let keycloak = Personality(
        name: "keycloak",
        sources: [
            "https://www.keycloak.org/securing-apps/oidc-layers", "https://github.com/keycloak/keycloak/issues/48063",
        ],
        endpoints: Endpoints(
            discovery: ["/realms/main/.well-known/openid-configuration"],
            authorization: "/realms/main/protocol/openid-connect/auth",
            token: "/realms/main/protocol/openid-connect/token",
            deviceAuthorization: "/realms/main/protocol/openid-connect/auth/device", devicePage: "/realms/main/device",
            userInfo: "/realms/main/protocol/openid-connect/userinfo",
            revocation: "/realms/main/protocol/openid-connect/revoke",
            keys: "/realms/main/protocol/openid-connect/certs"),
        issuerPath: "/realms/main",
        addedToTokenResponse: [
            "refresh_expires_in": .integer(0), "not-before-policy": .integer(0), "session_state": "5f0c2a9b",
        ],
        errors: [ErrorForm(.invalidGrant, .refreshToken, description: "Session not active")])

    /// A user pool. Its metadata list neither S256 nor `offline_access`, and a refresh issues no refresh token.
    static let cognito = Personality(
        name: "cognito",
        sources: ["https://docs.aws.amazon.com/cognito/latest/developerguide/token-endpoint.html"],
        endpoints: Endpoints(
            discovery: ["/eu-west-1_pool/.well-known/openid-configuration"], authorization: "/oauth2/authorize",
            token: "/oauth2/token", userInfo: "/oauth2/userInfo", revocation: "/oauth2/revoke",
            keys: "/eu-west-1_pool/.well-known/jwks.json"),
        issuerPath: "/eu-west-1_pool", namesIssuerInResponses: false, redirectHosts: ["localhost"],
        omittedFromDiscovery: ["code_challenge_methods_supported", "device_authorization_endpoint"],
        grantTypes: [.authorizationCode, .refreshToken], scope: Scope(names: ["openid", "profile", "email", "phone"]),
        rotation: .off)

    // MARK: Products

    static let atlassian = Personality(
        name: "atlassian",
        sources: [
            "https://developer.atlassian.com/cloud/jira/platform/oauth-2-3lo-apps/",
            "https://community.developer.atlassian.com/t/83103",
        ],
        endpoints: Endpoints(
            discovery: [], authorization: "/authorize", userInfo: "/me", revocation: nil, keys: nil),
        namesIssuerInResponses: false, grantTypes: [.authorizationCode, .refreshToken],
        scope: Scope(names: ["read:me", "offline_access", "read:jira-work"]),
        secretGrants: [.authorizationCode, .refreshToken], refreshTokens: .scope("offline_access"),
        rotation: .spendsBoth, detectsReuse: false,
        profile: { user, _ in
            [
                "account_id": .string(user.subject), "email": .string(user.email), "name": .string(user.name),
                "nickname": .string(user.username), "picture": .string(user.picture), "account_type": "atlassian",
            ]
        },
        errors: [
            ErrorForm(.invalidGrant, .refreshToken, status: 403, description: "Unknown or invalid refresh token.")
        ],
        answers: [
            ServiceAnswer(
                name: "unauthorized_client", status: 403,
                body: #"{"error":"unauthorized_client","error_description":"refresh_token is invalid"}"#,
                source: "https://community.developer.atlassian.com/t/refresh-token-is-invalid/48183")
        ])

    /// "Sign in with Slack": errors with status 200, the token type `user`, and no refresh token.
    static let slack = Personality(
        name: "slack",
        sources: [
            "https://docs.slack.dev/reference/methods/openid.connect.token",
            "https://docs.slack.dev/reference/methods/openid.connect.userInfo",
        ],
        endpoints: Endpoints(
            discovery: ["/.well-known/openid-configuration"], authorization: "/openid/connect/authorize",
            token: "/api/openid.connect.token", userInfo: "/api/openid.connect.userInfo", revocation: nil,
            keys: "/openid/connect/keys"),
        namesIssuerInResponses: false, omittedFromDiscovery: ["device_authorization_endpoint"],
        grantTypes: [.authorizationCode, .refreshToken], scope: Scope(names: ["openid", "profile", "email"]),
        refreshTokens: .never, lifetime: 3599,
        addedToTokenResponse: ["ok": true, "token_type": "user"],
        changeError: { error, response in
            response.status = .ok
            let code = error.credential == .code ? "invalid_code" : error.code.rawValue
            response.body = ["ok": false, "error": .string(code)]
        },
        challenge: {
            ErrorResponse(status: .ok, body: ["ok": false, "error": $0.code == nil ? "not_authed" : "token_revoked"])
        })

    static let discord = Personality(
        name: "discord", sources: ["https://docs.discord.com/developers/topics/oauth2"],
        endpoints: Endpoints(
            discovery: ["/.well-known/oauth-authorization-server"], authorization: "/oauth2/authorize",
            token: "/api/oauth2/token", userInfo: "/api/users/@me", revocation: "/api/oauth2/token/revoke",
            keys: "/api/oauth2/keys"),
        omittedFromDiscovery: ["userinfo_endpoint", "device_authorization_endpoint", "scopes_supported"],
        grantTypes: [.authorizationCode, .refreshToken], scope: Scope(names: ["identify", "email", "guilds"]),
        usualScope: Scope(names: ["identify"]), detectsReuse: false,
        profile: { user, scope in
            [
                "id": .string("80351110224678\(user.id)"), "username": .string(user.username),
                "global_name": .string(user.name), "avatar": .null,
                "email": scope.contains("email") ? .string(user.email) : .null,
            ]
        },
        errors: [ErrorForm(.invalidGrant, .refreshToken, as: "invalid_request")],
        challenge: { _ in
            ErrorResponse(status: .unauthorized, body: ["message": "401: Unauthorized", "code": .integer(0)])
        },
        answers: [
            ServiceAnswer(
                name: "rate-limit", status: 429,
                body: #"{"message":"You are being rate limited.","retry_after":64.57,"global":false}"#,
                source: "https://docs.discord.com/developers/topics/rate-limits")
        ])

    /// The OAuth 2.1 server of a project.
    static let supabase = Personality(
        name: "supabase", sources: ["https://supabase.com/docs/guides/auth/oauth-server/getting-started"],
        endpoints: Endpoints(
            discovery: [
                "/.well-known/oauth-authorization-server/auth/v1", "/auth/v1/.well-known/openid-configuration",
            ],
            authorization: "/auth/v1/oauth/authorize", token: "/auth/v1/oauth/token",
            userInfo: "/auth/v1/oauth/userinfo", revocation: nil, keys: "/auth/v1/.well-known/jwks.json"),
        issuerPath: "/auth/v1", namesIssuerInResponses: false, omittedFromDiscovery: ["device_authorization_endpoint"],
        grantTypes: [.authorizationCode, .refreshToken], scope: Scope(names: ["openid", "profile", "email", "phone"]),
        addedToTokenResponse: ["token_type": "bearer"])

    static let huggingFace = Personality(
        name: "huggingface", sources: ["https://huggingface.co/docs/hub/oauth"],
        endpoints: Endpoints(
            discovery: ["/.well-known/openid-configuration"], deviceAuthorization: "/oauth/device",
            devicePage: "/oauth/device/activate", revocation: nil),
        grantTypes: [.authorizationCode, .refreshToken, .deviceCode],
        scope: Scope(names: ["openid", "profile", "email", "read-repos", "inference-api"]), refreshTokens: .onDevice)

    /// A server of the AT Protocol: pushed requests only, tokens that are bound to a key, and nonces in proofs.
    static let bluesky = Personality(
        name: "bluesky",
        sources: [
            "https://atproto.com/specs/oauth", "https://github.com/bluesky-social/atproto/issues/3859",
        ],
        endpoints: Endpoints(
            discovery: ["/.well-known/oauth-authorization-server"], pushedAuthorization: "/oauth/par", keys: nil),
        omittedFromDiscovery: ["userinfo_endpoint", "device_authorization_endpoint"],
        grantTypes: [.authorizationCode, .refreshToken],
        scope: Scope(names: ["atproto", "transition:generic", "transition:email"]), requiresPushedRequests: true,
        proofs: .nonces, refusedProofSpendsToken: true, addedToTokenResponse: ["sub": "did:plc:alice"])

    /// The MCP server of Linear, which AccountKit does not know by name: tokens of the type `bearer`, which it accepts only with the
    /// scheme `Bearer`.
    static let linear = Personality(
        name: "linear",
        sources: ["https://github.com/coder/coder/pull/23516", "https://github.com/linear/linear/issues/1086"],
        addedToTokenResponse: ["token_type": "bearer"], comparesCaseOfScheme: true)
}
