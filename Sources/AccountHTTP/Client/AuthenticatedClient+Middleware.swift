import AccountKit
public import HTTPTypes
import AccountCrypto
import AccountSupport

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AuthenticatedClient {
    /// Sends a request with the access token through another HTTP client. If the API rejects the token, this method
    /// sends the request again with a new token.
    ///
    /// Use this method in middleware for clients based on swift-http-types, such as clients of swift-openapi-generator:
    ///
    /// ```swift
    /// struct AuthenticationMiddleware: ClientMiddleware {
    ///     let api: AuthenticatedClient
    ///
    ///     func intercept(
    ///         _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String,
    ///         next: @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
    ///     ) async throws -> (HTTPResponse, HTTPBody?) {
    ///         try await api.authorize(request, at: baseURL, canBeRepeated: body?.iterationBehavior != .single) {
    ///             try await next($0, body, baseURL)
    ///         } reading: { body in
    ///             guard let body else { return (Data(), nil) }
    ///             let bytes = try await Data(collecting: body, upTo: api.maximumResponseLength)
    ///             return (bytes, HTTPBody(bytes))
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// As in ``send(_:body:)``, AccountKit refreshes the token before it expires, and sends the token only to the
    /// ``origin``. This method does not change bodies. The other client sets the timeouts.
    ///
    /// - Parameters:
    ///   - request: The request, with a path relative to `baseURL`.
    ///   - baseURL: The base URL, which must be on the ``origin``.
    ///   - canBeRepeated: Whether the request can be sent twice. If not, for example because its body is a stream that
    ///     can be read only once, this method refreshes the refused token and returns the 401 response, and the next
    ///     request uses the new token.
    ///   - send: Sends the request.
    ///   - read: Reads the body of a 401 response, in which some services report an invalid token. Returns the bytes,
    ///     and a body that contains them.
    /// - Throws: The errors of `send` and `read`, and those of ``send(_:body:)``.
    public func authorize<Body>(
        _ request: HTTPRequest, at baseURL: URL, canBeRepeated: Bool,
        send: (HTTPRequest) async throws -> (HTTPResponse, Body), reading read: (Body) async throws -> (Data, Body)
    ) async throws -> (HTTPResponse, Body) {
        // Check both, because the base URL and the request each name a destination.
        let base = try url(baseURL.absoluteString)
        let relative = try url(url(of: request))
        for name in [HTTPField.Name.authorization, .dpop] where request.headerFields[name] != nil {
            throw AccountError(.invalidArgument, "the caller must not set the header field \(name.canonicalName)")
        }
        // The other client appends the path of the request to the base URL.
        let path = base.path.hasSuffix("/") ? String(base.path.dropLast()) : base.path
        let target = ServiceURL(at: base, path: path + relative.path)

        func exchange(
            _ account: Account, isRepeated: Bool = false
        ) async throws -> (response: (HTTPResponse, Body), refusal: AuthorityError?) {
            var authorized = ServiceRequest(url: target)
            authorized.method = request.method
            do {
                try authorized.authorize(with: account.credentials)
                try nonces.prove(&authorized, at: Date())
            } catch {
                throw AccountError(request: error, to: origin)
            }
            var message = request
            message.headerFields[.authorization] = authorized.message.headerFields[.authorization]
            message.headerFields[.dpop] = authorized.headerFields[.dpop]
            let (head, body) = try await send(message)
            let bare = ServiceResponse(head: head, body: WipedBytes(), receivedAt: Date())
            nonces.note(bare, to: authorized)
            if authorized.isWorthRepeating(after: bare), canBeRepeated, !isRepeated {
                // Another client may keep a connection until its response is read.
                _ = try await read(body)
                return try await exchange(account, isRepeated: true)
            }
            if head.status.code == 511 {
                throw AccountError(request: .intercepted("the network requires its own sign-in (511)"), to: origin)
            }
            if let requirement = AccessRequirement(bare, hiding: authorized.secrets) {
                throw AccountError(requirement, at: origin, in: tokens.session)
            }
            // Read only the body of a 401 response: other bodies may be endless.
            guard head.status == .unauthorized else {
                return ((head, body), self.refusal(in: bare, for: account))
            }
            let (bytes, again) = try await read(body)
            let response = ServiceResponse(head: head, body: WipedBytes(bytes), receivedAt: Date())
            return ((head, again), self.refusal(in: response, for: account))
        }

        let account = try await usableAccount()
        let (response, refusal) = try await exchange(account)
        guard let refusal, let renewed = try await replacement(for: account, after: refusal), canBeRepeated else {
            return response
        }
        let (next, nextRefusal) = try await exchange(renewed)
        tokens.note(nextRefusal, renewed)
        return next
    }
}
