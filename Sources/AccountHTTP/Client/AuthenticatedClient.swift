public import AccountKit
public import HTTPTypes
public import Logging
import AccountCrypto

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Requests to a service's API in the name of whoever is signed in.
///
/// ```swift
/// let api = try AuthenticatedClient(origin: "https://api.example.com", store: store, authority: authority)
/// let gists: [Gist] = try await api.get("/gists?page=2").decoded()
/// ```
///
/// Each request carries the access token, which is refreshed before it expires. A response that says that the token is not
/// valid any more (401 with `error="invalid_token"`, RFC 6750, section 3.1) makes the client get a new one and send the
/// request once more; any number of requests at a time share one refresh. The token goes to this one origin only, and no
/// redirect is followed. A request is for the user who is signed in when it begins, and never has the token of another user.
///
/// An API does not end a session: where there is no refresh token, the authority is asked, and its word counts.
public struct AuthenticatedClient: Sendable {
    /// Where the requests go, and the token with them: scheme, host and port.
    public var origin: String { originURL.description }

    /// How long one request may take, from the look-up of the host to the last byte of the response; of one whose bodies are
    /// handed on piece by piece, for how long no byte may move.
    public let timeout: Duration

    /// For how long a token must still be good to be sent; `nil` is 60 s, or half of its lifetime if that is less.
    public let minimumValidity: Duration?

    /// How long a response may be, in bytes.
    public let maximumResponseLength: Int

    private let originURL: ServiceURL

    /// Standard where the API is not on the host of the service's own user info.
    private let quirks: ServiceQuirks
    let store: AccountStore
    let authority: any AccountAuthority
    let logger: Logger?
    let transport: Transport?

    /// Sends a request to its end, and returns the whole response.
    ///
    /// The request has scheme, authority and path, and the token in `Authorization`. An error that is no `AuthorityError` is
    /// an unexpected response.
    public typealias Transport =
        @Sendable (_ request: HTTPRequest, _ body: Data?) async throws -> (head: HTTPResponse, body: Data)

    /// Prepares to talk to an API.
    ///
    /// - Parameters:
    ///   - origin: `https`, host, and port if there is one; `http` on the loopback interface only.
    ///   - store: Whose account it is.
    ///   - authority: The service that issues the tokens.
    ///   - minimumValidity: For how long a token must still be good to be sent; `nil` is 60 s, or half of its lifetime if
    ///     that is less.
    ///   - timeout: How long one request may take. A call may need three: request, refresh, and the request once more.
    ///   - maximumResponseLength: How long a response may be, in bytes.
    ///   - logger: Gets a line a request at debug level: method, host, path and status, and nothing else.
    ///   - transport: Sends the requests in place of this package, such as `ScriptedTransport.send` of AccountTesting;
    ///     timeout and logging are then its own.
    /// - Throws: `invalidArgument`, if the origin is not one that a token may be sent to, or has a path.
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

    /// Asks for what is at a URL.
    ///
    /// - Parameter url: A path with its query, such as `/gists?page=2`, or a whole URL on the origin, such as a link that a
    ///   response gave.
    /// - Throws: As ``send(_:body:)``.
    public func get(_ url: String) async throws(AccountError) -> APIResponse { try await send(.get, url) }

    /// Removes what is at a URL; otherwise as ``get(_:)``.
    public func delete(_ url: String) async throws(AccountError) -> APIResponse { try await send(.delete, url) }

    /// Hands over a value as JSON.
    ///
    /// - Parameters:
    ///   - url: A path with its query, or a whole URL on the origin.
    ///   - value: The value.
    /// - Throws: As ``send(_:body:)``, and what the encoder throws.
    public func post(_ url: String, _ value: some Encodable) async throws -> APIResponse {
        try await send(.post, url, json: value)
    }

    /// Puts a value in a place, as JSON; otherwise as ``post(_:_:)``.
    public func put(_ url: String, _ value: some Encodable) async throws -> APIResponse {
        try await send(.put, url, json: value)
    }

    /// Changes a part of something, by a value as JSON; otherwise as ``post(_:_:)``.
    public func patch(_ url: String, _ value: some Encodable) async throws -> APIResponse {
        try await send(.patch, url, json: value)
    }

    private func send(_ method: HTTPRequest.Method, _ url: String, json: some Encodable) async throws -> APIResponse {
        try await send(method, url, [.contentType: "application/json"], try JSONEncoder().encode(json))
    }

    /// Sends a request, and once more with a new token if the first was refused.
    ///
    /// - Parameters:
    ///   - request: Method, path with query, and header fields. Scheme and authority are the origin's, or left out; the token
    ///     is the client's to add.
    ///   - body: The body.
    /// - Returns: The response, whatever its status: also 401, where a new token was no help.
    /// - Throws: An `AccountError`. Without a request: `notSignedIn` if nobody is signed in, `misconfigured` if who is
    ///   signed in is of another service or there is no way to the origin, `invalidArgument` if the URL is of another
    ///   origin or a header field is the client's to set, `conflict` if another user signs in before the request has a
    ///   token, or before it is sent again after a refusal. After a request that may have been carried out:
    ///   `serviceUnavailable` if no response came or the token could not be refreshed, `notSignedIn` if the session has
    ///   ended, `requestFailed` if the response is too long, `cancelled`.
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
        // These say who asks whom, and where the request ends.
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

    /// Sends something with a token, and once more with a new one if the first was refused.
    func authorized(
        _ exchange: (Secret) async throws(AccountError) -> (response: APIResponse, isRefused: Bool)
    ) async throws(AccountError) -> APIResponse {
        let account = try await store.usableAccount(minimumValidity: minimumValidity, with: authority)
        let (response, isRefused) = try await exchange(account.credentials.accessToken)
        guard isRefused, let account = try await replacement(for: account) else { return response }
        return try await exchange(account.credentials.accessToken).response
    }

    /// The account with a new token in place of one that was refused; `nil` where there is none to be had.
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

    /// A URL on this origin, whatever the request says.
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

    /// As a transport gets it that sends requests in place of this package.
    func message(_ request: ServiceRequest) -> HTTPRequest {
        var message = HTTPRequest(
            method: request.method, scheme: request.url.scheme, authority: request.url.authority,
            path: request.url.target, headerFields: request.headerFields)
        if case .bearer(let token)? = request.authorization {
            message.headerFields[.authorization] = "Bearer \(token.reveal())"
        }
        return message
    }

    /// What would count as a refusal from user info.
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
