import AccountKit
import AccountSupport

/// The audience of access tokens. A service that ignores the `resource` of a request may issue a token for another API,
/// which the API could then use there.
extension Credentials {
    /// Returns an error if the access token names its audience, and the API at a URL is not part of it.
    ///
    /// - Parameter audience: The audience that the sign-in requested; `nil` if it requested none.
    func audienceProblem(at url: ServiceURL, requested audience: String?) -> AccountError? {
        // Without metadata, the URL is that of the service, and no resource was requested.
        guard !resources.isEmpty, let token = JSONWebToken(accessToken) else { return nil }
        let audiences = token.audiences
        let requested = [audience, machine?.audience].compactMap(\.self)
        // The resource in the metadata covers the URL too.
        guard !audiences.isEmpty,
            !audiences.contains(where: { requested.contains($0) || ProtectedResource.covers($0, url) })
        else { return nil }
        let shown = ServerText(secrets: [accessToken]).shown(audiences[0])
        let option = "--audience" + (shown.map { " \($0.shellWord)" } ?? "")
        return AccountError(
            .misconfigured,
            "the access token is for \(shown ?? "another API") (aud), so it is not sent to \(url); you are still signed in",
            hint: "if \(url) expects such a token, sign in again with this audience (on a command line, with \(option))"
        )
    }
}
