public import AccountKit
public import HTTPTypes
public import Logging
import AccountCrypto
import AccountSupport

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The HTTP client for writing your own login: sends the requests of an app's own authority, and throws each failure as the
/// `AuthorityError` that AccountKit expects.
///
/// ```swift
/// let client = try LoginClient(origin: "https://api.example.com")
/// let response = try await client.post("/login", ["username": username, "password": password.reveal()])
/// ```
///
/// The client throws an error if there is no complete response, or if the service is unavailable (408, 425, 429 and
/// 5xx). It also throws an error if the response does not come from the service: a redirect, a web page, or status 511.
/// The client returns every other response, including one with an error status, because only the authority can
/// interpret the status. The client follows no redirects and retries no requests. If the connection is refused, it
/// throws an error immediately.
public struct LoginClient: Sendable {
    private var origin: String { originURL.description }

    private let originURL: ServiceURL
    private let timeout: Duration
    private let logger: Logger?
    private let transport: AuthenticatedClient.Transport?

    /// Creates a client for a service.
    ///
    /// - Parameters:
    ///   - origin: The origin of the service: `https`, a host and an optional port. `http` is valid only on the
    ///     loopback interface.
    ///   - timeout: The time limit for a request, from the host lookup to the last byte of the response. A request for
    ///     new tokens needs a longer timeout: see ``send(_:body:token:hiding:timeout:)``.
    ///   - logger: Logs one line per request at debug level: method, host, path and status only.
    ///   - transport: A function that sends the requests instead of AccountKit, for example `ScriptedTransport.send` of
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
    ///   - value: The value to encode as JSON.
    ///   - token: The token to send in the `Authorization` field.
    ///   - secrets: The secrets in `value`. Errors don't contain these secrets, even if the service repeats them.
    ///   - timeout: The timeout of this request, or `nil` for the timeout of the client.
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
    ///   - secrets: The secrets in the body. Errors don't contain these secrets, even if the service repeats them.
    ///   - timeout: The timeout of this request, or `nil` for the timeout of the client. For a request that consumes a
    ///     refresh token, use at least 60 s: if the response is lost, the session may be lost too.
    /// - Returns: The response, with any status for which this method does not throw an error.
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
        let response = try await exchange(message, timeout: timeout ?? self.timeout).decompressed()
        try ResponseParser.checkAvailability(of: response, from: origin)
        guard response.isBodyWhole else {
            throw .unclear("the response from \(origin) is longer than \(ServiceResponse.bodyLimit >> 20) MiB")
        }
        // The response may contain tokens, so its label does not matter if it is JSON.
        guard !response.isMarkup || response.beginsLikeJSON else {
            throw .intercepted("a web page instead of \(origin)")
        }
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
