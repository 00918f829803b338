import AccountKit
import AccountSupport

/// The rules for an issuer that an API named, instead of the app or the user.
struct APIOrigin: Sendable {
    /// The URL of the API, as the user or the app wrote it.
    let url: ServiceURL

    /// The API that named the issuer; `nil` if the user or the app named the issuer.
    var namer: ServiceURL?

    /// The scopes that the API named; `nil` if it named none.
    var scopes: [String]?

    /// Scopes to request only if the service lists them, because only AccountKit chose them.
    var tentativeScopes: Set<String> = []

    /// Whether the user or the app chose the issuer.
    var isIssuerGiven = false

    func limited(_ scopes: [String], _ documents: ServiceDocuments) async throws(AuthorityError) -> [String] {
        guard !tentativeScopes.isEmpty else { return scopes }
        let listed = try await documents.scopes() ?? []
        return scopes.filter { !tentativeScopes.contains($0) || listed.contains($0) }
    }

    /// Without PKCE, another program on this machine could use the code (RFC 8252, section 8.1).
    func checkChallengeMethods(
        in document: ServiceDocument, of issuer: String, _ quirks: ServiceQuirks
    ) throws(AuthorityError) {
        guard !isIssuerGiven, !quirks.supportsPKCE, document.challengeMethods?.contains("S256") != true else { return }
        throw .misconfigured(
            "the discovery document of \(issuer) does not list PKCE with S256 (code_challenge_methods_supported), which protects a "
                + "sign-in with the browser; if you trust this service, name it yourself (on a command line, with --issuer)"
        )
    }
}
