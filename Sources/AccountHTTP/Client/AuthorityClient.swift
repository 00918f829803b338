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
/// something else responded in its place: a redirect, a web page, or 511. It returns every other response, including
/// responses with an error status, because only the authority knows what they mean. It follows no redirects, retries
/// nothing, and fails at once if the connection is refused.
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
    ///   - timeout: How long a request may take, from the host lookup to the last byte of the response. A request for
    ///     new tokens should get more; see ``send(_:body:token:hiding:timeout:)``.
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
    /// - Throws: The errors of ``send(_:body:token:hiding:timeout:)``.
    public func get(_ path: String, token: Secret? = nil) async throws(AuthorityError) -> APIResponse {
        try await send(HTTPRequest(method: .get, scheme: nil, authority: nil, path: path), token: token)
    }

    /// Sends a POST request with a value as JSON.
    ///
    /// - Parameters:
    ///   - path: The path with its query.
    ///   - value: The value.
    ///   - token: The token to send in the `Authorization` field.
    ///   - secrets: The secrets in `value`, which no error repeats, even if the service does.
    ///   - timeout: The timeout of this request; `nil` for that of the client.
    /// - Throws: The errors of ``send(_:body:token:hiding:timeout:)``, or an error of the encoder.
    public func post(
        _ path: String, _ value: some Encodable, token: Secret? = nil, hiding secrets: [Secret] = [],
        timeout: Duration? = nil
    ) async throws -> APIResponse {
        let request = HTTPRequest(
            method: .post, scheme: nil, authority: nil, path: path, headerFields: [.contentType: "application/json"])
        return try await send(
            request, body: try JSONEncoder().encode(value), token: token, hiding: secrets, timeout: timeout)
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - request: The request, with a path at the origin. It must not set `Authorization`, `Host` or the length of
    ///     the body.
    ///   - body: The body of the request.
    ///   - token: The token to send in the `Authorization` field.
    ///   - secrets: The secrets in the body, which no error repeats, even if the service does.
    ///   - timeout: The timeout of this request; `nil` for that of the client. Give a request that spends a refresh
    ///     token at least 60 s: without its response, the session could be lost.
    /// - Returns: The response, whatever its status, except for those that throw an error.
    /// - Throws: `noResponse`, `untrustedTLS` and `proxyAuthenticationRequired`; `unavailable` for 408, 425, 429 and 5xx;
    ///   `intercepted` for a redirect, a web page or 511; `unclear` for a response that is longer than 1 MiB;
    ///   `misconfigured` if the path or a header field is not valid, or if the request is for another origin.
    public func send(
        _ request: HTTPRequest, body: Data? = nil, token: Secret? = nil, hiding secrets: [Secret] = [],
        timeout: Duration? = nil
    ) async throws(AuthorityError) -> APIResponse {
        let path = request.path ?? "/"
        let isHere = request.authority.map { "\(request.scheme ?? originURL.scheme)://\($0)" == origin } ?? true
        guard isHere, path.hasPrefix("/"), !path.hasPrefix("//"), let url = try? ServiceURL(origin + path) else {
            throw .misconfigured("the request is not for a path of \(origin)")
        }
        if let name = request.headerFields.reservedName {
            throw .misconfigured("the caller must not set the header field \(name)")
        }
        var message = ServiceRequest(url: url, bearer: token)
        message.method = request.method
        message.headerFields = request.headerFields
        message.body = body
        message.secrets += secrets
        let response = try await exchange(message, timeout: timeout ?? self.timeout)
        try ResponseParser.checkAvailability(of: response, from: origin)
        guard response.isBodyWhole else {
            throw .unclear("the response from \(origin) is longer than \(ServiceResponse.bodyLimit >> 20) MiB")
        }
        guard !response.isMarkup else { throw .intercepted("a web page instead of \(origin)") }
        return APIResponse(response, from: origin, hiding: message.secrets)
    }

    private func exchange(
        _ request: ServiceRequest, timeout: Duration
    ) async throws(AuthorityError) -> ServiceResponse {
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
