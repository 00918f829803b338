public import AccountKit
public import Logging

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Requests to a service's API in the name of whoever is signed in.
///
/// ```swift
/// let client = try AuthenticatedClient(origin: "https://api.example.com", store: store, authority: authority)
/// let response = try await client.send(.get("/gists?page=2"))
/// ```
///
/// Each request carries the access token, which is refreshed before it expires. A response that says that the token is not
/// valid any more (401 with `error="invalid_token"`, RFC 6750, section 3.1) makes the client get a new one and send the
/// request once more; any number of requests at a time share one refresh. The token goes to this one origin only, and no
/// redirect is followed.
///
/// An API does not end a session: where there is no refresh token, the authority is asked, and its word counts.
public struct AuthenticatedClient: Sendable {
    /// Where the requests go, and the token with them: scheme, host and port.
    public var origin: String { originURL.description }

    /// How long one request may take, from the look-up of the host to the last byte of the response.
    public let timeout: Duration

    /// For how many seconds a token must still be good to be sent; `nil` is 60 s, or half of its lifetime if that is less.
    public let minimumValidity: TimeInterval?

    /// How long a response may be, in bytes.
    public let maximumResponseLength: Int

    private let originURL: ServiceURL

    /// What the API responds to a token that is not valid any more, if it is the one of a service that documents that.
    private let deadTokenResponse: ServiceQuirks.DeadTokenResponse?

    private let store: AccountStore
    private let authority: any AccountAuthority
    private let logger: Logger?
    private let transport: HTTPTransport

    /// Prepares to talk to an API.
    ///
    /// - Parameters:
    ///   - origin: `https`, host, and port if there is one; `http` on the loopback interface only.
    ///   - store: Whose account it is.
    ///   - authority: The service that issues the tokens.
    ///   - minimumValidity: For how many seconds a token must still be good to be sent; `nil` is 60 s, or half of its
    ///     lifetime if that is less.
    ///   - timeout: How long one request may take. A call may need three: request, refresh, and the request once more.
    ///   - maximumResponseLength: How long a response may be, in bytes.
    ///   - logger: Gets a line a request at debug level: method, host, path and status, and nothing else.
    /// - Throws: `invalidArgument`, if the origin is not one that a token may be sent to, or has a path.
    public init(
        origin: String, store: AccountStore, authority: any AccountAuthority, minimumValidity: TimeInterval? = nil,
        timeout: Duration = .seconds(30), maximumResponseLength: Int = 16 << 20, logger: Logger? = nil
    ) throws(AccountError) {
        try self.init(
            origin: origin, store: store, authority: authority, minimumValidity: minimumValidity, timeout: timeout,
            maximumResponseLength: maximumResponseLength, logger: logger, transport: .shared)
    }

    init(
        origin: String, store: AccountStore, authority: any AccountAuthority, minimumValidity: TimeInterval?,
        timeout: Duration, maximumResponseLength: Int, logger: Logger?, transport: HTTPTransport
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
        deadTokenResponse = isServices ? service?.service?.quirks.deadTokenResponse : nil
        self.store = store
        self.authority = authority
        self.minimumValidity = minimumValidity
        self.timeout = timeout
        self.maximumResponseLength = maximumResponseLength
        self.logger = logger
        self.transport = transport
    }

    /// Sends a request, and once more with a new token if the first was refused.
    ///
    /// - Returns: The response, whatever its status: also 401, where a new token was no help.
    /// - Throws: An `AccountError`. Without a request: `notSignedIn` if nobody is signed in, `misconfigured` if who is
    ///   signed in is of another service or there is no way to the origin, `invalidArgument` if the address is of another
    ///   origin or a header field is not well-formed. After a request that may have been carried out: `serviceUnavailable`
    ///   if no response came or the token could not be refreshed, `notSignedIn` if the session has ended, `conflict` if
    ///   another user has signed in meanwhile, `tooLarge` if the response is too long, `cancelled`.
    public func send(_ request: APIRequest) async throws(AccountError) -> APIResponse {
        let target = try url(of: request)
        try request.check()
        let account = try await store.usableAccount(minimumValidity: minimumValidity, with: authority)
        let response = try await exchange(request, target, account.credentials.accessToken)
        guard response.refusesToken else { return response }
        if let account = try await store.account(insteadOf: account, with: authority) {
            return try await exchange(request, target, account.credentials.accessToken)
        }
        // No new token is to be had. Whether the session has ended is for the authority to say.
        if account.credentials.refreshToken == nil,
            case .signedOut(let signOut) = await store.checkSession(with: authority)
        {
            throw AccountError(notSignedIn: signOut)
        }
        return response
    }

    /// The address of a request, which is on this origin whatever the request says.
    private func url(of request: APIRequest) throws(AccountError) -> ServiceURL {
        let isPath = request.address.hasPrefix("/") && !request.address.hasPrefix("//")
        let url: ServiceURL
        do {
            url = try ServiceURL(isPath ? origin + request.address : request.address)
        } catch {
            throw AccountError(
                .invalidArgument, "the address of the request \(error.text), or must begin with / for one of \(origin)")
        }
        guard ServiceURL(at: url, path: "") == originURL else {
            throw AccountError(
                .invalidArgument, "the address of the request is not on \(origin), and nobody else is sent its token")
        }
        return url
    }

    private func exchange(
        _ request: APIRequest, _ target: ServiceURL, _ token: Secret
    ) async throws(AccountError) -> APIResponse {
        let call = HTTPRequest(
            url: target, bearer: token, method: request.method.rawValue,
            headers: request.headers.map { HTTPResponse.Header(name: $0, value: $1) },
            body: request.body.map { [UInt8]($0) }, bodyLimit: maximumResponseLength)
        let response: HTTPResponse
        do {
            response = try await transport.send(call, timeout: timeout, clock: SystemWallClock(), logger: logger)
        } catch {
            throw AccountError(request: error, to: origin)
        }
        guard response.isBodyWhole else {
            throw AccountError(
                .tooLarge, "the response of \(origin) is longer than \(maximumResponseLength) bytes")
        }
        return APIResponse(response, deadTokenResponse: deadTokenResponse)
    }
}

extension AccountError {
    /// Why no response came.
    fileprivate init(request failure: AuthorityError, to origin: String) {
        guard failure != .noResponse(.cancelled) else {
            self.init(.cancelled, "the request to \(origin) was cancelled")
            return
        }
        if case .misconfigured(let detail) = failure {
            self.init(.misconfigured, "there is no way to \(origin): \(detail)")
            return
        }
        let reason = SessionDecision.reason(for: failure)
        self.init(.serviceUnavailable, "\(origin) did not answer (\(reason)); you are still signed in")
    }
}
