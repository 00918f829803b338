import AccountKit
import AccountSupport

/// The claims that an API requires in a new token (OpenID Connect Core, section 5.5), in the challenge `insufficient_claims` of
/// Microsoft Entra. The next refresh sends them as the parameter `claims`.
///
/// Source: https://learn.microsoft.com/entra/identity-platform/claims-challenge
struct ClaimsChallenge {
    /// The longest text, in bytes.
    private static let limit = 8192

    /// The JSON object.
    let text: String

    /// Reads the claims of a response; `nil` if the response names none.
    init?(_ response: ServiceResponse) {
        guard response.status == 401 else { return nil }
        let challenge = response.challenges.first { $0.parameters["error"] == "insufficient_claims" }
        guard let encoded = challenge?.parameters["claims"], encoded.utf8.count <= Self.limit else { return nil }
        // The API may use either alphabet of RFC 4648, sections 4 and 5, with or without padding.
        let plain = encoded.replacing("-", with: "+").replacing("_", with: "/").replacing("=", with: "")
        let padding = String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: plain + padding), JSONValue.object(from: data) != nil else { return nil }
        text = String(decoding: data, as: UTF8.self)
    }
}

extension OAuthAuthority {
    /// Requests the claims that an API requires with the next refresh of an account, unless only an API named the service.
    func note(_ claims: ClaimsChallenge, for account: Account) {
        do throws(AuthorityError) {
            let service: OAuthService? =
                switch origin {
                case .issuer(let service): service
                case .api(let api): try api.givenService(of: account)
                }
            service?.clients.learned.note(claims, insteadOf: account.credentials.accessToken)
        } catch {
            // The refresh fails for the same reason, and reports it.
        }
    }
}
