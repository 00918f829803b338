import AccountKit
import AccountSupport
import HTTPTypes

/// The check of a session whose user no endpoint of the service identifies: a request to the API that the token is for.
///
/// | response of the API | result |
/// | --- | --- |
/// | 401 | refresh once, then unclear: an API cannot end a session |
/// | 401 that requires another authentication (RFC 9470), 403 `insufficient_scope` | accepted; the command reports what is missing |
/// | 407, 408, 425, 429, 502, 503, 504, 511, a redirect to another server | keep: the response may not come from the API |
/// | any other response | accepted |
extension ServiceConnection {
    /// Returns the URL of the API that the token of a session is for: the URL of this authority if the token is for it,
    /// and else the first resource of the sign-in that is a URL. Returns `nil` if there is none.
    func apiURL(of credentials: Credentials) -> ServiceURL? {
        let resources = credentials.resources
        if let url = api?.url,
            resources.isEmpty || resources.contains(where: { ProtectedResource.covers($0, url) })
        {
            return url
        }
        return resources.lazy.compactMap { try? ServiceURL($0) }.first
    }

    /// Sends the token to the API, and returns what the API requires beyond it; `nil` for nothing.
    ///
    /// - Throws: `unauthorized` if the API does not accept the token; `misconfigured` if the token must not be sent there.
    func requirement(
        at url: ServiceURL, of credentials: Credentials
    ) async throws(AuthorityError) -> AccessRequirement? {
        if let problem = credentials.audienceProblem(at: url, requested: options.audience) {
            throw .misconfigured(problem.message)
        }
        guard credentials.accessToken.withUnsafeBytes({ ResponseParser.isToken($0) }) else {
            throw .unclear("the stored token contains characters that cannot be sent")
        }
        var request = ServiceRequest(url: url)
        // The API may stream its response without end.
        request.bodyLimit = 0
        try request.authorize(with: credentials)
        let response = try await HTTPTransport.shared.send(request, timeout: timeout, clock: clock, logger: logger)
        if let requirement = AccessRequirement(response, hiding: request.secrets) { return requirement }
        if let failure = Self.refusal(in: response, of: url) { throw failure }
        return nil
    }

    /// Returns whether the API refuses a request without a token. Otherwise its response to a request with a token says nothing
    /// about the token.
    func requiresToken(at url: ServiceURL) async throws(AuthorityError) -> Bool {
        var request = ServiceRequest(url: url)
        request.bodyLimit = 0
        let response = try await HTTPTransport.shared.send(request, timeout: timeout, clock: clock, logger: logger)
        if case .unauthorized? = Self.refusal(in: response, of: url) { return true }
        if let failure = Self.refusal(in: response, of: url) { throw failure }
        return false
    }

    private static func refusal(in response: ServiceResponse, of url: ServiceURL) -> AuthorityError? {
        switch response.status {
        case 401:
            let errors = response.challenges.compactMap { $0.parameters["error"] }
            // These errors are about the proof, and not about the token (RFC 9449, section 7.1).
            let proofError = errors.first { $0 == "invalid_dpop_proof" || $0 == "use_dpop_nonce" }
            return .unauthorized(error: proofError)
        case 300..<400:
            let target = response.head.headerFields[.location].flatMap { try? ServiceURL($0) }
            guard let target, target.origin != url.origin else { return nil }
            return .intercepted("\(url) redirects to another server (\(response.status))")
        case 407, 408, 425, 429, 502, 503, 504, 511:
            do throws(AuthorityError) {
                try ResponseParser.checkAvailability(of: response, from: "\(url)")
                return nil
            } catch {
                return error
            }
        default: return nil
        }
    }
}
