import AccountKit
import AccountSupport

struct Endpoint: Sendable {
    let url: ServiceURL
    let document: ServiceDocument

    /// The date when ``document`` expires; `nil` if AccountKit must not store it.
    var freshUntil: Date?

    /// The token endpoint as part of an account; `nil` if AccountKit must not store it.
    var stored: TokenEndpoint? {
        freshUntil.map {
            let methods = document.tokenAuthentication?.filter { ClientAuthentication(rawValue: $0) != nil }
            return TokenEndpoint(
                url: url.description, authenticationMethods: methods, userInfo: document.urls[.userInfo]?.description,
                expiresAt: $0)
        }
    }
}
