import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Microsoft's identity platform, for accounts of any tenant: the issuer in discovery contains a placeholder.
///
/// Source: https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc and
/// https://learn.microsoft.com/entra/identity-platform/v2-oauth2-device-code
struct MicrosoftQuirks: ServiceQuirks {
    /// The tenant of personal accounts.
    ///
    /// Source: https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
    static let tenant = "9122040d-6c67-4c5b-b112-36a304b66dad"

    var endpoints: Endpoints {
        Endpoints(
            discovery: ["/common/v2.0/.well-known/openid-configuration"],
            authorization: "/common/oauth2/v2.0/authorize",
            token: "/common/oauth2/v2.0/token",
            deviceAuthorization: "/common/oauth2/v2.0/devicecode",
            devicePage: "/common/oauth2/deviceauth",
            userInfo: "/oidc/userinfo",
            revocation: nil,
            keys: "/common/discovery/v2.0/keys"
        )
    }

    var scope: Scope { Scope(names: ["openid", "profile", "email", "offline_access", "User.Read"]) }
    var defaultScope: Scope { Scope(names: ["openid", "profile", "email"]) }
    var namesIssuerInResponses: Bool { false }

    /// Source: https://learn.microsoft.com/entra/identity-platform/reply-url
    func allows(_ redirectURI: RedirectURI) -> Bool { redirectURI.host == "localhost" }

    func bringsRefreshToken(scope: Scope, browserParameters: [String: String]?) -> Bool {
        scope.contains("offline_access")
    }

    /// A refresh issues a new refresh token, but does not revoke the old one.
    ///
    /// Source: https://learn.microsoft.com/entra/identity-platform/refresh-tokens
    func tokenRules(_ settings: ServerSettings) -> TokenRules {
        TokenRules(lifetime: settings.accessTokenLifetime, rotation: settings.rotatesRefreshTokens ? .keepsOld : .off)
    }

    func issuer(for origin: Origin) -> String { origin.url("/\(Self.tenant)/v2.0") }
    func discoveredIssuer(for origin: Origin) -> String { origin.url("/{tenantid}/v2.0") }

    func idTokenClaims(_ claims: JSONObject, origin: Origin) -> JSONObject {
        claims.merging(["tid": .string(Self.tenant), "ver": "2.0"]) { _, new in new }
    }

    /// The document mentions neither public clients nor code challenges, although the service supports both.
    func discovery(_ document: JSONObject) -> JSONObject {
        var document = document
        document["token_endpoint_auth_methods_supported"] = ["client_secret_post", "client_secret_basic"]
        document["code_challenge_methods_supported"] = nil
        return document
    }

    func deviceResponse(_ response: JSONObject) -> JSONObject {
        var response = response
        response["verification_uri_complete"] = nil
        response["message"] = "Open the page in a browser and enter the code to sign in."
        return response
    }

    func tokenResponse(_ tokens: TokenSet) -> JSONObject {
        var response = tokens.response
        response["ext_expires_in"] = response["expires_in"]
        return response
    }
}

// MARK: - Errors

extension MicrosoftQuirks {
    /// Source: https://learn.microsoft.com/entra/identity-platform/reference-error-codes
    func response(to error: OAuthError) -> ErrorResponse {
        var response = error.standardResponse
        response.status = .badRequest
        let (code, number) = Self.codes(of: error)
        let (trace, correlation) = (UUID().uuidString.lowercased(), UUID().uuidString.lowercased())
        response.body = [
            "error": .string(code),
            "error_description": .string("AADSTS\(number): \(error.explanation). Trace ID: \(trace)"),
            "error_codes": [.integer(number)],
            "trace_id": .string(trace),
            "correlation_id": .string(correlation),
        ]
        return response
    }

    private static func codes(of error: OAuthError) -> (String, Int) {
        switch (error.code, error.credential) {
        case (.invalidGrant, .deviceCode): ("bad_verification_code", 70_018)
        case (.invalidGrant, .password): ("invalid_grant", 50_126)
        case (.invalidGrant, .refreshToken): ("invalid_grant", 700_082)
        case (.invalidGrant, _): ("invalid_grant", 70_008)
        case (.accessDenied, _): ("authorization_declined", 65_004)
        case (.authorizationPending, _): ("authorization_pending", 70_016)
        case (.expiredToken, _): ("expired_token", 70_020)
        case (.invalidScope, _): ("invalid_scope", 70_011)
        case (.unsupportedGrantType, _): ("unsupported_grant_type", 70_003)
        case (.invalidClient, _): ("unauthorized_client", 700_016)
        default: (error.code.rawValue, 900_144)
        }
    }
}
