#if OpenAPI
public import HTTPTypes
public import OpenAPIRuntime

#if canImport(FoundationEssentials)
public import struct Foundation.URL
import FoundationEssentials
#else
public import Foundation
#endif

/// The token for clients that swift-openapi-generator makes.
///
/// ```swift
/// let api = try AuthenticatedClient(origin: "https://api.example.com", store: store, authority: authority)
/// let client = Client(
///     serverURL: try Servers.Server1.url(), transport: AsyncHTTPClientTransport(),
///     middlewares: [AuthenticationMiddleware(api)])
/// ```
///
/// As with an ``AuthenticatedClient``, the token is refreshed before it expires, and a request whose token was refused is sent
/// once more with a new one, if its body can be sent twice (`HTTPBody.iterationBehavior`). A request to another origin is an
/// error, and is not sent. Bodies are handed on as they come; timeouts are the transport's.
public struct AuthenticationMiddleware: ClientMiddleware {
    private let client: AuthenticatedClient

    /// - Parameter client: Knows the origin, whose account it is, and who refreshes the token.
    public init(_ client: AuthenticatedClient) { self.client = client }

    /// Sends a request with the token.
    ///
    /// - Throws: As `AuthenticatedClient.send`, and what the transport throws.
    public func intercept(
        _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String,
        next: @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?) {
        try await client.authorize(
            request, at: baseURL, canBeRepeated: body?.iterationBehavior != .single
        ) { request in
            try await next(request, body, baseURL)
        } reading: { body in
            guard let body else { return (Data(), nil) }
            let bytes = try await Data(collecting: body, upTo: client.maximumResponseLength)
            return (bytes, HTTPBody(bytes))
        }
    }
}
#endif
