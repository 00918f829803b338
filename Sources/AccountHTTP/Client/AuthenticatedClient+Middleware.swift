import AccountKit
public import HTTPTypes
import AccountCrypto

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AuthenticatedClient {
    /// Lets another client send a request with the token, and once more with a new one if the first was refused.
    ///
    /// This is for the middleware of clients that speak swift-http-types. One for clients that swift-openapi-generator makes:
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
    /// As with ``send(_:body:)``, the token is refreshed before it expires, and goes to the one origin. Bodies are handed on as they
    /// come; time limits are the other client's.
    ///
    /// - Parameters:
    ///   - request: The request, whose path is behind that of `baseURL`.
    ///   - baseURL: Where it goes: on the ``origin``.
    ///   - canBeRepeated: Whether it can be sent twice. Otherwise a refusal is what comes back, and the next request has a new token.
    ///   - send: Sends the request.
    ///   - read: Reads the body of a refusal, for services that say in it that the token is not valid, and returns it once more.
    /// - Throws: What `send` throws; else as ``send(_:body:)``.
    public func authorize<Body>(
        _ request: HTTPRequest, at baseURL: URL, canBeRepeated: Bool,
        send: (HTTPRequest) async throws -> (HTTPResponse, Body), reading read: (Body) async throws -> (Data, Body)
    ) async throws -> (HTTPResponse, Body) {
        // Both say where it goes, and either could be wrong.
        _ = try url(baseURL.absoluteString)
        _ = try url(url(of: request))
        guard request.headerFields[.authorization] == nil else {
            throw AccountError(.invalidArgument, "the header field authorization is not for the caller to set")
        }

        func exchange(_ account: Account) async throws -> (response: (HTTPResponse, Body), isRefused: Bool) {
            var message = request
            message.headerFields[.authorization] = "Bearer \(account.credentials.accessToken.reveal())"
            let (head, body) = try await send(message)
            // What a refusal has is read; whatever else may be without an end.
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
