import AccountKit
import AccountSupport

/// Requests to the API itself.
extension APIServices {
    /// Sends the account's token to the API, and returns what the API requires beyond it; `nil` for nothing.
    func requirement(for account: Account) async throws(AccountError) -> AccessRequirement? {
        guard account.credentials.resources.contains(where: { ProtectedResource.covers($0, url) }) else {
            throw AccountError(
                .misconfigured, "the token of this account is not for \(url), so it is not sent there",
                hint: "name the scopes with --scope")
        }
        var request = ServiceRequest(url: url)
        request.bodyLimit = 0
        if let problem = audienceProblem(of: account.credentials) { throw problem }
        do throws(AuthorityError) {
            try request.authorize(with: account.credentials)
            return AccessRequirement(try await send(request), hiding: request.secrets)
        } catch {
            throw AccountError(request: error, to: url.description)
        }
    }

    /// Returns an error if the access token names its audience, and the API is not part of it.
    func audienceProblem(of credentials: Credentials) -> AccountError? {
        credentials.audienceProblem(at: url, requested: settings.options.audience)
    }

    func clockOffset() async throws(AuthorityError) -> Duration? {
        try await send(ServiceRequest(url: ServiceURL(at: url, path: "/.well-known/oauth-protected-resource")))
            .clockOffset
    }

    private func send(_ request: ServiceRequest) async throws(AuthorityError) -> ServiceResponse {
        try await HTTPTransport.shared.send(
            request, timeout: settings.timeout, clock: settings.clock, logger: settings.logger)
    }
}
