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

/// Sends requests to an API with the access token of the signed-in user.
///
/// ```swift
/// let api = try AuthenticatedClient(origin: "https://api.example.com", store: store, authority: authority)
/// let gists: [Gist] = try await api.get("/gists?page=2").decoded()
/// ```
///
/// Each request contains the access token, which the client refreshes before it expires. If the API refuses the token
/// with a 401 response of any form, the client refreshes the token once and sends the request again: many APIs do not
/// report `error="invalid_token"` (RFC 6750, section 3.1), for example after a restart. A 400 or 403 response with this
/// error counts too. If the API refuses the new token too, the client returns the response, and does not refresh that
/// token for a minute. Parallel requests share one
/// refresh. The client sends the token only to this origin and follows no redirects. If another user signs in during a
/// request, the client does not send that request with the new user's token.
///
/// If the tokens are bound to a key (RFC 9449), the client adds a proof to each request. A 401 response about the proof
/// causes no refresh.
///
/// An API cannot end a session. If the API reports `invalid_token` for an account without a refresh token, the client
/// asks the authority whether the session has ended.
public struct AuthenticatedClient: Sendable {
    /// The origin of the API: scheme, host and port.
    public var origin: String { originURL.description }

    /// The time limit for a request, from the host lookup to the last byte of the response. For bodies in pieces, the
    /// limit applies to the time in which no bytes are sent or received.
    let timeout: Duration

    /// The maximum length of a response, in bytes.
    public let maximumResponseLength: Int

    private let originURL: ServiceURL

    /// The quirks of the service, if its user info endpoint is on the origin of the API. Otherwise the standard
    /// behavior.
    private let quirks: ServiceQuirks
    let tokens: RequestTokens
    let authority: any AccountAuthority
    let logger: Logger?
    let transport: Transport?

    var nonces: ProofNonces { HTTPTransport.shared.nonces }

    /// A function that sends a request and returns the complete response.
    ///
    /// The request contains the scheme, the authority, the path, and the token in `Authorization`. If the function
    /// throws an error other than an `AuthorityError`, the client treats it as an unclear response.
    public typealias Transport =
        @Sendable (_ request: HTTPRequest, _ body: Data?) async throws -> (head: HTTPResponse, body: Data)

    /// Creates a client for an API.
    ///
    /// - Parameters:
    ///   - origin: The origin of the API: `https`, a host and an optional port. `http` is valid only on the loopback
    ///     interface.
    ///   - store: The store of the account.
    ///   - authority: The service that issues the tokens.
    ///   - minimumValidity: The minimum remaining lifetime of a token that the client sends. `nil` means 60 s or half
    ///     of the token's lifetime, whichever is less.
    ///   - timeout: The time limit for each request. One call may send three: the request, a refresh, and the repeated
    ///     request.
    ///   - maximumResponseLength: The maximum length of a response, in bytes.
    ///   - logger: Logs one line per request at debug level: method, host, path and status only.
    ///   - transport: A function that sends the requests instead of AccountKit, for example `ScriptedTransport.send` of
    ///     AccountTesting. `timeout` and `logger` do not apply to this function.
    /// - Throws: `invalidArgument` if a token must not be sent to the origin, or if the origin has a path.
    public init(
        origin: String, store: AccountStore, authority: any AccountAuthority, minimumValidity: Duration? = nil,
        timeout: Duration = .seconds(30), maximumResponseLength: Int = 16 << 20, logger: Logger? = nil,
        transport: Transport? = nil
    ) throws(AccountError) {
        try self.init(
            origin: origin, tokens: store.requestTokens(with: authority, minimumValidity: minimumValidity),
            authority: authority, timeout: timeout, maximumResponseLength: maximumResponseLength, logger: logger,
            transport: transport)
    }

    init(
        origin: String, tokens: RequestTokens, authority: any AccountAuthority, timeout: Duration = .seconds(30),
        maximumResponseLength: Int = 16 << 20, logger: Logger? = nil, transport: Transport? = nil
    ) throws(AccountError) {
        let originURL = try ServiceURL(origin: origin)
        self.originURL = originURL
        quirks = (authority as? OAuthAuthority)?.quirks(ofUserInfoAt: originURL) ?? .standard
        self.tokens = tokens
        self.authority = authority
        self.timeout = timeout
        self.maximumResponseLength = maximumResponseLength
        self.logger = logger
        self.transport = transport
    }

    /// Sends a GET request.
    ///
    /// - Parameter url: A path with its query, such as `/gists?page=2`, or a complete URL on the origin, such as a link
    ///   in a response.
    /// - Throws: The errors of ``send(_:body:)``.
    public func get(_ url: String) async throws(AccountError) -> APIResponse { try await send(.get, url) }

    /// Sends a DELETE request. The parameter and the errors are those of ``get(_:)``.
    public func delete(_ url: String) async throws(AccountError) -> APIResponse { try await send(.delete, url) }

    /// Sends a POST request with a value as JSON.
    ///
    /// - Parameters:
    ///   - url: A path with its query, or a complete URL on the origin.
    ///   - value: The value to encode as JSON.
    /// - Throws: The errors of ``send(_:body:)``, or an error of the encoder.
    public func post(_ url: String, _ value: some Encodable) async throws -> APIResponse {
        try await send(.post, url, json: value)
    }

    /// Sends a PUT request with a value as JSON. The parameters and the errors are those of ``post(_:_:)``.
    public func put(_ url: String, _ value: some Encodable) async throws -> APIResponse {
        try await send(.put, url, json: value)
    }

    /// Sends a PATCH request with a value as JSON. The parameters and the errors are those of ``post(_:_:)``.
    public func patch(_ url: String, _ value: some Encodable) async throws -> APIResponse {
        try await send(.patch, url, json: value)
    }

    private func send(_ method: HTTPRequest.Method, _ url: String, json: some Encodable) async throws -> APIResponse {
        try await send(method, url, [.contentType: "application/json"], try JSONEncoder().encode(json))
    }

    /// Sends a request. If the API refuses the token (401), the client sends the request again with a new token.
    ///
    /// - Parameters:
    ///   - request: The method, the path with its query, and the header fields. The scheme and the authority must be
    ///     absent or match the origin. The client adds the token.
    ///   - body: The body.
    /// - Returns: The response, with any status. The status is 401 if the API refuses the new token too.
    ///   If a gateway has compressed a text, although the request did not allow that, the client decompresses it.
    /// - Throws: An `AccountError`. Before the client sends the request:
    ///   - `notSignedIn` if no user is signed in
    ///   - `misconfigured` if the account belongs to another service, if the access token is for another API than that
    ///     of the ``OAuthAuthority``, or if the configuration makes the origin unreachable
    ///   - `invalidArgument` if the URL has another origin, or if the request sets a header field that only the client
    ///     may set
    ///   - `conflict` if another user signs in before the client has a token, or before it repeats the request
    ///
    ///   After a request that the API may have processed:
    ///   - `serviceUnavailable` if there was no response, if the refresh failed, or if another server responded, such
    ///     as a captive portal: status 511, or a web page although the request accepts only JSON
    ///   - `notSignedIn` if the session has ended
    ///   - `insufficientScope` for a 403 with `error="insufficient_scope"` (RFC 6750, section 3.1), and
    ///     `stepUpRequired` for a 401 with `acr_values` or `max_age` (RFC 9470, section 3). The error's
    ///     `accessRequirement` contains the missing scopes or the required authentication
    ///   - `requestRefused` if the response is too long
    ///   - `cancelled` if the task was cancelled
    public func send(_ request: HTTPRequest, body: Data? = nil) async throws(AccountError) -> APIResponse {
        try await send(request.method, url(of: request), request.headerFields, body)
    }

    /// Sends a GET request for a URL in a response of the API, such as the address of a file on a download server.
    ///
    /// The token is sent only to the origin of the API. To any other origin, the client sends the request without a
    /// token, so the URL itself must grant access. The client follows no redirects. It connects to this machine or a
    /// private network only if the API is there, too.
    ///
    /// - Parameters:
    ///   - link: A complete URL, or a path on the origin. `http` is valid only if the origin of the API is `http`.
    ///   - fields: Header fields.
    /// - Returns: The response, with any status.
    /// - Throws: `invalidArgument` if no request may be sent to the URL; otherwise the errors of ``send(_:body:)``.
    public func get(link: String, headerFields fields: HTTPFields = [:]) async throws(AccountError) -> APIResponse {
        var fields = fields
        if fields[.accept] == nil { fields[.accept] = "*/*" }
        let url: ServiceURL
        do {
            url = try completed(link)
        } catch {
            throw AccountError(.invalidArgument, "a link in a response of \(origin) \(error.text)")
        }
        guard url.origin != originURL else { return try await send(.get, link, fields) }
        guard url.scheme == "https" || originURL.scheme == "http" else {
            throw AccountError(
                .invalidArgument, "a link in a response of \(origin) leads to another program on this machine")
        }
        let request = try serviceRequest(.get, at: url, fields)
        let place = url.origin.description
        let response: ServiceResponse
        do {
            response = try await transported(request, by: HTTPTransport.shared.reaching(hostsNamedBy: originURL))
        } catch {
            throw AccountError(request: AuthorityError(error), to: place)
        }
        if let failure = Self.interception(of: response, to: request) {
            throw AccountError(request: failure, to: place)
        }
        try checkLength(of: response, from: place)
        return APIResponse(response, from: place, hiding: [])
    }

    func url(of request: HTTPRequest) -> String {
        let path = request.path ?? ""
        return request.authority.map { "\(request.scheme ?? originURL.scheme)://\($0)\(path)" } ?? path
    }

    private func send(
        _ method: HTTPRequest.Method, _ url: String, _ fields: HTTPFields = [:], _ body: Data? = nil
    ) async throws(AccountError) -> APIResponse {
        let request = try serviceRequest(method, at: try self.url(url), fields, body)
        return try await authorized { (account) async throws(AccountError) in
            try await exchange(request, account)
        }
    }

    func serviceRequest(
        _ method: HTTPRequest.Method, at url: ServiceURL, _ fields: HTTPFields, _ body: Data? = nil
    ) throws(AccountError) -> ServiceRequest {
        var request = ServiceRequest(url: url)
        if let name = fields.reservedName {
            throw AccountError(.invalidArgument, "the caller must not set the header field \(name)")
        }
        request.method = method
        request.headerFields = fields
        request.body = body
        request.bodyLimit = maximumResponseLength
        return request
    }

    func authorized(
        _ exchange: (Account) async throws(AccountError) -> (response: APIResponse, refusal: AuthorityError?)
    ) async throws(AccountError) -> APIResponse {
        let account = try await usableAccount()
        let (response, refusal) = try await exchange(account)
        guard let refusal, let renewed = try await replacement(for: account, after: refusal) else { return response }
        let (next, nextRefusal) = try await exchange(renewed)
        tokens.note(nextRefusal, renewed)
        return next
    }

    /// Returns the account with a token that the API may receive.
    func usableAccount() async throws(AccountError) -> Account {
        try checked(try await tokens.account())
    }

    private func checked(_ account: Account) throws(AccountError) -> Account {
        let problem = (authority as? OAuthAuthority)?.audienceProblem(of: account.credentials, at: originURL)
        if let problem { throw problem }
        return account
    }

    /// Returns the account with a new token, or `nil` if there is no new token.
    func replacement(for account: Account, after refusal: AuthorityError) async throws(AccountError) -> Account? {
        guard let renewed = try await tokens.replacement(account, refusal) else { return nil }
        return try checked(renewed)
    }

    func url(_ text: String) throws(AccountError) -> ServiceURL {
        let url: ServiceURL
        do {
            url = try completed(text)
        } catch {
            throw AccountError(
                .invalidArgument, "the URL of the request \(error.text); for a URL on \(origin), begin with /")
        }
        guard url.origin == originURL else {
            throw AccountError(
                .invalidArgument, "the URL of the request is not on \(origin), and the token is sent only there")
        }
        return url
    }

    /// Returns the URL of a path on the origin, or a complete URL.
    private func completed(_ text: String) throws(ServiceURL.Flaw) -> ServiceURL {
        try ServiceURL(text.hasPrefix("/") && !text.hasPrefix("//") ? origin + text : text)
    }

    private func exchange(
        _ request: ServiceRequest, _ account: Account
    ) async throws(AccountError) -> (response: APIResponse, refusal: AuthorityError?) {
        var request = request
        do {
            try request.authorize(with: account.credentials)
            return try judged(try await transported(request), to: request, account)
        } catch let error as AccountError {
            throw error
        } catch {
            throw AccountError(request: AuthorityError(error), to: origin)
        }
    }

    func judged(
        _ response: ServiceResponse, to request: ServiceRequest, _ account: Account
    ) throws(AccountError) -> (response: APIResponse, refusal: AuthorityError?) {
        if let failure = Self.interception(of: response, to: request) {
            throw AccountError(request: failure, to: origin)
        }
        let token = account.credentials.accessToken
        if let requirement = AccessRequirement(response, hiding: [token]) {
            throw AccountError(requirement, at: origin, in: tokens.session)
        }
        try checkLength(of: response, from: origin)
        return (APIResponse(response, from: origin, hiding: [token]), refusal(in: response, for: account))
    }

    private func checkLength(of response: ServiceResponse, from place: String) throws(AccountError) {
        guard !response.isBodyWhole || response.body.count > maximumResponseLength else { return }
        throw AccountError(.requestRefused, "the response from \(place) is longer than \(maximumResponseLength) bytes")
    }

    /// Returns a failure if another server responded instead of the API, such as a captive portal: with status 511, or
    /// with a web page although the request accepts only JSON. Other responses of this kind may come from the API:
    /// ``APIResponse/decoded(as:)`` reports them.
    private static func interception(of response: ServiceResponse, to request: ServiceRequest) -> AuthorityError? {
        if response.status == 511 { return .intercepted("the network requires its own sign-in (511)") }
        // The transport adds `Accept: application/json` if the caller sets none.
        let accepts = request.headerFields[.accept] ?? "application/json"
        guard (200...299).contains(response.status), accepts == "application/json", response.isWebPage else {
            return nil
        }
        return .intercepted("a web page instead of JSON")
    }

    private func transported(
        _ request: ServiceRequest, by connection: HTTPTransport = .shared
    ) async throws -> ServiceResponse {
        guard let transport else {
            return try await connection.send(
                request, timeout: timeout, clock: SystemWallClock(), logger: logger
            ).asRequested(by: request)
        }
        return try await nonces.exchange(request, clock: SystemWallClock()) { request in
            let response = try await transport(request.message, request.body)
            return ServiceResponse(head: response.head, body: WipedBytes(response.body), receivedAt: Date())
                .asRequested(by: request)
        }
    }

    /// Returns the failure in a response that refuses the token: a 401, or a 400 or 403 that calls the token invalid. Returns
    /// `nil` for any other response.
    func refusal(in response: ServiceResponse, for account: Account) -> AuthorityError? {
        // The refresh that follows the refusal requests a token with these claims.
        if let claims = ClaimsChallenge(response) { (authority as? OAuthAuthority)?.note(claims, for: account) }
        let parser = ResponseParser(.userInfo, quirks: quirks, isProved: account.credentials.requiresProof)
        if parser.namesInvalidToken(response) { return .unauthorized(error: "invalid_token") }
        do throws(AuthorityError) {
            try parser.acknowledgement(in: response)
            return nil
        } catch {
            switch error {
            case .unauthorized: return error
            default: return nil
            }
        }
    }
}

extension HTTPFields {
    /// The name of the first field that contains the credentials, specifies the host, or determines the length of the
    /// body.
    var reservedName: String? {
        map(\.name.canonicalName).first {
            ["authorization", "dpop", "host", "content-length", "transfer-encoding"].contains($0)
        }
    }
}

extension AccountError {
    init(request failure: AuthorityError, to origin: String) {
        if failure.isCancellation {
            self.init(.cancelled, "the request to \(origin) was cancelled")
        } else if case .misconfigured(let detail) = failure {
            self.init(.misconfigured, "cannot reach \(origin): \(detail)")
        } else if case .intercepted(let detail) = failure {
            self.init(
                .serviceUnavailable,
                "another server responded instead of \(origin) (\(detail)): a captive portal? You are still signed in")
        } else {
            let reason = SessionDecision.reason(for: failure)
            self.init(.serviceUnavailable, "\(origin) did not respond (\(reason)); you are still signed in")
        }
        cause = RequestFailure(failure)
    }
}
