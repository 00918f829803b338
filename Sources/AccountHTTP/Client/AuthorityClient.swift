public import AccountKit
public import HTTPTypes
public import Logging
import AccountCrypto

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Sends the requests of an app's own authority, and throws each failure as the `AuthorityError` that AccountKit expects.
///
/// ```swift
/// let client = try AuthorityClient(origin: "https://api.example.com")
/// let response = try await client.post("/login", ["username": username, "password": password.reveal()])
/// ```
///
/// The client throws if there is no complete response, if the service is unavailable (408, 425, 429 and 5xx), and if
/// something else responded in its place: a redirect, a web page, or 511. It returns every other response, also those
/// with an error status, because only the authority knows what they mean. It follows no redirects, retries nothing, and
/// fails at once if the connection is refused.
public struct AuthorityClient: Sendable {
    /// The origin of the service: scheme, host and port.
    public var origin: String { originURL.description }

    private let originURL: ServiceURL
    private let timeout: Duration
    private let logger: Logger?
    private let transport: AuthenticatedClient.Transport?

    /// Creates a client for a service.
    ///
    /// - Parameters:
    ///   - origin: The origin: `https`, host and optional port; `http` on the loopback interface only.
    ///   - timeout: How long a request may take, from the host lookup to the last byte of the response.
    ///   - logger: Logs one line per request at debug level: method, host, path and status only.
    ///   - transport: Sends the requests in place of this package, for example `ScriptedTransport.send` of
    ///     AccountTesting.
    /// - Throws: `invalidArgument` if a token must not be sent to the origin, or if the origin has a path.
    public init(
        origin: String, timeout: Duration = .seconds(10), logger: Logger? = nil,
        transport: AuthenticatedClient.Transport? = nil
    ) throws(AccountError) {
        originURL = try ServiceURL(origin: origin)
        self.timeout = timeout
        self.logger = logger
        self.transport = transport
    }

    /// Sends a GET request.
    ///
    /// - Parameters:
    ///   - path: The path with its query, such as `/user?full=1`.
    ///   - token: The token to send in the `Authorization` field.
    /// - Throws: The errors of ``send(_:body:token:)``.
    public func get(_ path: String, token: Secret? = nil) async throws(AuthorityError) -> APIResponse {
        try await send(HTTPRequest(method: .get, scheme: nil, authority: nil, path: path), token: token)
    }

    /// Sends a POST request with a value as JSON.
    ///
    /// - Parameters:
    ///   - path: The path with its query.
    ///   - value: The value.
    ///   - token: The token to send in the `Authorization` field.
    /// - Throws: The errors of ``send(_:body:token:)``, or an error of the encoder.
    public func post(_ path: String, _ value: some Encodable, token: Secret? = nil) async throws -> APIResponse {
        let request = HTTPRequest(
            method: .post, scheme: nil, authority: nil, path: path, headerFields: [.contentType: "application/json"])
        return try await send(request, body: try JSONEncoder().encode(value), token: token)
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - request: The request, with a path at the origin. Its scheme and authority are ignored.
    ///   - body: The body of the request.
    ///   - token: The token to send in the `Authorization` field.
    /// - Returns: The response, whatever its status, except for those that throw an error.
    /// - Throws: `noResponse`, `untrustedTLS` and `proxyAuthenticationRequired`; `unavailable` for 408, 425, 429 and 5xx;
    ///   `intercepted` for a redirect, a web page or 511; `unclear` for a response that is longer than 1 MiB;
    ///   `misconfigured` if the path is not valid.
    public func send(
        _ request: HTTPRequest, body: Data? = nil, token: Secret? = nil
    ) async throws(AuthorityError) -> APIResponse {
        let path = request.path ?? "/"
        guard path.hasPrefix("/"), !path.hasPrefix("//"), let url = try? ServiceURL(origin + path) else {
            throw .misconfigured("\(path) is not a path of \(origin)")
        }
        var message = ServiceRequest(url: url, bearer: token)
        message.method = request.method
        message.headerFields = request.headerFields
        message.body = body
        let response = try await exchange(message)
        try ResponseParser.checkAvailability(of: response, from: origin)
        guard response.isBodyWhole else {
            throw .unclear("the response from \(origin) is longer than \(ServiceResponse.bodyLimit >> 20) MiB")
        }
        guard !response.isMarkup else { throw .intercepted("a web page instead of \(origin)") }
        return APIResponse(response, from: origin, hiding: token.map { [$0] } ?? [])
    }

    private func exchange(_ request: ServiceRequest) async throws(AuthorityError) -> ServiceResponse {
        guard let transport else {
            return try await HTTPTransport.shared.send(
                request, timeout: timeout, clock: SystemWallClock(), logger: logger)
        }
        do {
            let response = try await transport(request.message, request.body)
            return ServiceResponse(head: response.head, body: WipedBytes(response.body), receivedAt: Date())
        } catch {
            throw AuthorityError(error)
        }
    }
}
