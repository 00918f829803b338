import AccountKit
public import HTTPTypes
import AccountCrypto

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AuthenticatedClient {
    /// Sends a request through another HTTP client with the token, and again with a new token if the service rejects
    /// the first.
    ///
    /// Use this in middleware for clients based on swift-http-types, such as clients of swift-openapi-generator:
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
    /// As in ``send(_:body:)``, the token is refreshed before it expires, and is sent only to the ``origin``. Bodies
    /// are passed on unchanged. The other client sets the timeouts.
    ///
    /// - Parameters:
    ///   - request: The request, with a path relative to `baseURL`.
    ///   - baseURL: The base URL, on the ``origin``.
    ///   - canBeRepeated: Whether the request can be sent twice. Otherwise this method returns the rejection, and the
    ///     next request gets a new token.
    ///   - send: Sends the request.
    ///   - read: Reads the body of a 401 response and returns it again, because some services report an invalid token
    ///     there.
    /// - Throws: The error of `send`; otherwise the errors of ``send(_:body:)``.
    public func authorize<Body>(
        _ request: HTTPRequest, at baseURL: URL, canBeRepeated: Bool,
        send: (HTTPRequest) async throws -> (HTTPResponse, Body), reading read: (Body) async throws -> (Data, Body)
    ) async throws -> (HTTPResponse, Body) {
        // Check both: the base URL and the request each name the destination.
        _ = try url(baseURL.absoluteString)
        _ = try url(url(of: request))
        guard request.headerFields[.authorization] == nil else {
            throw AccountError(.invalidArgument, "the caller must not set the header field authorization")
        }

        func exchange(_ account: Account) async throws -> (response: (HTTPResponse, Body), isRefused: Bool) {
            var message = request
            message.headerFields[.authorization] = "Bearer \(account.credentials.accessToken.reveal())"
            let (head, body) = try await send(message)
            let bare = ServiceResponse(head: head, body: WipedBytes(), receivedAt: Date())
            if let requirement = AccessRequirement(bare) { throw AccountError(requirement, at: origin) }
            // Read only the body of a 401 response: other bodies may be endless.
            guard head.status == .unauthorized else { return ((head, body), false) }
            let (bytes, again) = try await read(body)
            let refusal = ServiceResponse(head: head, body: WipedBytes(bytes), receivedAt: Date())
            return ((head, again), isRefusal(refusal))
        }

        let account = try await store.usableAccount(minimumValidity: minimumValidity, with: authority)
        let (response, isRefused) = try await exchange(account)
        guard isRefused, let renewed = try await replacement(for: account), canBeRepeated else { return response }
        return try await exchange(renewed).response
    }
}
