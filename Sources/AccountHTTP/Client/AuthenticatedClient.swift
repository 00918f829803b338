public import AccountKit
public import HTTPTypes
public import Logging
import AccountCrypto

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Sends requests to an API with the token of the signed-in user.
///
/// ```swift
/// let api = try AuthenticatedClient(origin: "https://api.example.com", store: store, authority: authority)
/// let gists: [Gist] = try await api.get("/gists?page=2").decoded()
/// ```
///
/// Each request has the access token, which is refreshed before it expires. If a response says that the token is invalid (401 with
/// `error="invalid_token"`, RFC 6750, section 3.1), the client refreshes it and sends the request again. Parallel requests share one
/// refresh. The token is sent only to this origin, and redirects are not followed. A request belongs to the user who is signed in when it
/// begins, and never has the token of another user.
///
/// An API cannot end a session. Without a refresh token, the authority is asked, and its response decides.
public struct AuthenticatedClient: Sendable {
    /// The origin of the API: scheme, host and port.
    public var origin: String { originURL.description }

    /// How long a request may take, from the look-up of the host to the last byte of the response. For bodies in pieces, how long there
    /// may be no bytes.
    public let timeout: Duration

    /// How long a token must still be valid to be sent; `nil` is 60 s, or half of its lifetime if that is less.
    public let minimumValidity: Duration?

    /// The maximum length of a response, in bytes.
    public let maximumResponseLength: Int

    private let originURL: ServiceURL

    /// The differences of the service; none if the API has another host than its user info.
    private let quirks: ServiceQuirks
    let store: AccountStore
    let authority: any AccountAuthority
    let logger: Logger?
    let transport: Transport?

    /// Sends a request, and returns the whole response.
    ///
    /// The request has scheme, authority and path, and the token in `Authorization`. An error other than an `AuthorityError` counts as an
    /// unclear response.
    public typealias Transport =
        @Sendable (_ request: HTTPRequest, _ body: Data?) async throws -> (head: HTTPResponse, body: Data)

    /// Creates a client for an API.
    ///
    /// - Parameters:
    ///   - origin: The origin: `https`, host and optional port; `http` on the loopback interface only.
    ///   - store: The store of the account.
    ///   - authority: The service that issues the tokens.
    ///   - minimumValidity: How long a token must still be valid to be sent; `nil` is 60 s, or half of its lifetime if that is less.
    ///   - timeout: How long a request may take. A call may need three: the request, a refresh, and the request again.
    ///   - maximumResponseLength: The maximum length of a response, in bytes.
    ///   - logger: The logger for one line per request at debug level: method, host, path and status only.
    ///   - transport: Sends the requests instead of this package, for example `ScriptedTransport.send` of AccountTesting. It has its own
    ///     timeout and logging.
    /// - Throws: `invalidArgument` if a token must not be sent to the origin, or if it has a path.
    public init(
        origin: String, store: AccountStore, authority: any AccountAuthority, minimumValidity: Duration? = nil,
        timeout: Duration = .seconds(30), maximumResponseLength: Int = 16 << 20, logger: Logger? = nil,
        transport: Transport? = nil
    ) throws(AccountError) {
        let url: ServiceURL
        do {
            url = try ServiceURL(origin)
        } catch {
            throw AccountError(.invalidArgument, "the origin of the API \(error.text)")
        }
        guard url.path.isEmpty || url.path == "/", url.query == nil else {
            throw AccountError(
                .invalidArgument, "the origin of the API must end with its host or port: put the path into the requests"
            )
        }
        let originURL = ServiceURL(at: url, path: "")
        self.originURL = originURL
        let service = (authority as? OAuthAuthority)?.discovery
        let isServices = service?.knownURL(.userInfo).map { ServiceURL(at: $0, path: "") == originURL } ?? false
        quirks = isServices ? service?.service?.quirks ?? .standard : .standard
        self.store = store
        self.authority = authority
        self.minimumValidity = minimumValidity
        self.timeout = timeout
        self.maximumResponseLength = maximumResponseLength
        self.logger = logger
        self.transport = transport
    }

    /// Sends a GET request.
    ///
    /// - Parameter url: A path with its query, such as `/gists?page=2`, or a complete URL on the origin, such as a link in a response.
    /// - Throws: As ``send(_:body:)``.
    public func get(_ url: String) async throws(AccountError) -> APIResponse { try await send(.get, url) }

    /// Sends a DELETE request; otherwise as ``get(_:)``.
    public func delete(_ url: String) async throws(AccountError) -> APIResponse { try await send(.delete, url) }

    /// Sends a POST request with a value as JSON.
    ///
    /// - Parameters:
    ///   - url: A path with its query, or a complete URL on the origin.
    ///   - value: The value.
    /// - Throws: As ``send(_:body:)``, or an error of the encoder.
    public func post(_ url: String, _ value: some Encodable) async throws -> APIResponse {
        try await send(.post, url, json: value)
    }

    /// Sends a PUT request with a value as JSON; otherwise as ``post(_:_:)``.
    public func put(_ url: String, _ value: some Encodable) async throws -> APIResponse {
        try await send(.put, url, json: value)
    }

    /// Sends a PATCH request with a value as JSON; otherwise as ``post(_:_:)``.
    public func patch(_ url: String, _ value: some Encodable) async throws -> APIResponse {
        try await send(.patch, url, json: value)
    }

    private func send(_ method: HTTPRequest.Method, _ url: String, json: some Encodable) async throws -> APIResponse {
        try await send(method, url, [.contentType: "application/json"], try JSONEncoder().encode(json))
    }

    /// Sends a request, and again with a new token if the first one was refused.
    ///
    /// - Parameters:
    ///   - request: Method, path with query, and header fields. Scheme and authority are those of the origin or missing. The client adds
    ///     the token.
    ///   - body: The body.
    /// - Returns: The response with any status, also 401 if a new token was refused too.
    /// - Throws: An `AccountError`. Without a request: `notSignedIn` if no user is signed in; `misconfigured` if the account belongs to
    ///   another service, or if the origin is unreachable because of the configuration; `invalidArgument` if the URL has another origin,
    ///   or if only the client may set a header field; `conflict` if another user signs in before the request has a token, or before it
    ///   is sent again. After a request that the API may have carried out: `serviceUnavailable` if there was no response or the refresh
    ///   failed; `notSignedIn` if the session has ended; `requestFailed` if the response is too long; `cancelled`.
    public func send(_ request: HTTPRequest, body: Data? = nil) async throws(AccountError) -> APIResponse {
        try await send(request.method, url(of: request), request.headerFields, body)
    }

    func url(of request: HTTPRequest) -> String {
        let path = request.path ?? ""
        return request.authority.map { "\(request.scheme ?? originURL.scheme)://\($0)\(path)" } ?? path
    }

    private func send(
        _ method: HTTPRequest.Method, _ url: String, _ fields: HTTPFields = [:], _ body: Data? = nil
    ) async throws(AccountError) -> APIResponse {
        let request = try serviceRequest(method, url, fields, body)
        return try await authorized { (token) async throws(AccountError) in try await exchange(request, token) }
    }

    func serviceRequest(
        _ method: HTTPRequest.Method, _ url: String, _ fields: HTTPFields, _ body: Data?
    ) throws(AccountError) -> ServiceRequest {
        var request = ServiceRequest(url: try self.url(url))
        // These fields name the sender and the host, and frame the request.
        for name in fields.map(\.name.canonicalName)
        where ["authorization", "host", "content-length", "transfer-encoding"].contains(name) {
            throw AccountError(.invalidArgument, "the header field \(name) is not for the caller to set")
        }
        request.method = method
        request.headerFields = fields
        request.body = body
        request.bodyLimit = maximumResponseLength
        return request
    }

    /// Sends a request with a token, and again with a new token if the first one was refused.
    func authorized(
        _ exchange: (Secret) async throws(AccountError) -> (response: APIResponse, isRefused: Bool)
    ) async throws(AccountError) -> APIResponse {
        let account = try await store.usableAccount(minimumValidity: minimumValidity, with: authority)
        let (response, isRefused) = try await exchange(account.credentials.accessToken)
        guard isRefused, let account = try await replacement(for: account) else { return response }
        return try await exchange(account.credentials.accessToken).response
    }

    /// Returns the account with a new token instead of a refused one; `nil` if there is none.
    func replacement(for account: Account) async throws(AccountError) -> Account? {
        if let account = try await store.account(insteadOf: account, with: authority) { return account }
        // Whether the session has ended is for the authority to say.
        if account.credentials.refreshToken == nil,
            case .signedOut(let signOut) = await store.checkSession(with: authority)
        {
            throw store.notSignedIn(signOut)
        }
        return nil
    }

    /// Returns a URL on this origin, or throws an error.
    func url(_ text: String) throws(AccountError) -> ServiceURL {
        let isPath = text.hasPrefix("/") && !text.hasPrefix("//")
        let url: ServiceURL
        do {
            url = try ServiceURL(isPath ? origin + text : text)
        } catch {
            throw AccountError(
                .invalidArgument, "the URL of the request \(error.text), or must begin with / for one of \(origin)")
        }
        guard ServiceURL(at: url, path: "") == originURL else {
            throw AccountError(
                .invalidArgument, "the URL of the request is not on \(origin), and nobody else is sent its token")
        }
        return url
    }

    private func exchange(
        _ request: ServiceRequest, _ token: Secret
    ) async throws(AccountError) -> (response: APIResponse, isRefused: Bool) {
        var request = request
        request.authorization = .bearer(token)
        do {
            return try judged(try await transported(request), token)
        } catch let error as AccountError {
            throw error
        } catch {
            throw AccountError(request: AuthorityError(error), to: origin)
        }
    }

    func judged(
        _ response: ServiceResponse, _ token: Secret
    ) throws(AccountError) -> (response: APIResponse, isRefused: Bool) {
        guard response.isBodyWhole, response.body.count <= maximumResponseLength else {
            throw AccountError(
                .requestFailed, "the response of \(origin) is longer than \(maximumResponseLength) bytes")
        }
        return (APIResponse(response, from: origin, hiding: token), isRefusal(response))
    }

    private func transported(_ request: ServiceRequest) async throws -> ServiceResponse {
        guard let transport else {
            return try await HTTPTransport.shared.send(
                request, timeout: timeout, clock: SystemWallClock(), logger: logger)
        }
        let response = try await transport(message(request), request.body)
        return ServiceResponse(head: response.head, body: WipedBytes(response.body), receivedAt: Date())
    }

    /// Returns the request for another transport.
    func message(_ request: ServiceRequest) -> HTTPRequest {
        var message = HTTPRequest(
            method: request.method, scheme: request.url.scheme, authority: request.url.authority,
            path: request.url.target, headerFields: request.headerFields)
        if case .bearer(let token)? = request.authorization {
            message.headerFields[.authorization] = "Bearer \(token.reveal())"
        }
        return message
    }

    /// Whether a response says that the token is invalid.
    func isRefusal(_ response: ServiceResponse) -> Bool {
        do throws(AuthorityError) {
            try ResponseParser(.userInfo, quirks: quirks).acknowledgement(in: response)
            return false
        } catch {
            return error == .bearerChallenge(error: "invalid_token")
        }
    }
}

extension AccountError {
    init(request failure: AuthorityError, to origin: String) {
        if failure == .noResponse(.cancelled) {
            self.init(.cancelled, "the request to \(origin) was cancelled")
        } else if case .misconfigured(let detail) = failure {
            self.init(.misconfigured, "there is no way to \(origin): \(detail)")
        } else {
            let reason = SessionDecision.reason(for: failure)
            self.init(.serviceUnavailable, "\(origin) did not respond (\(reason)); you are still signed in")
        }
        cause = RequestFailure(failure)
    }
}
