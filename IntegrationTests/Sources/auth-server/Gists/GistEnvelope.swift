import HTTPTypes
import Hummingbird

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The common part of all requests to the gists API: the user, the rate limits, and their header fields.
struct GistEnvelope: Sendable {
    let server: AuthorizationServer

    /// - Parameters:
    ///   - request: The request.
    ///   - context: The request's context.
    ///   - handle: Carries out the request.
    func response(
        to request: Request,
        context: ServerContext,
        _ handle: @Sendable (GistCall) async throws -> Response
    ) async throws -> Response {
        let personality = server.settings.personality
        if let refusal = personality.refusal(ofUserInfoRequest: request.headers) { return refusal }
        let settings = await server.gistControls.settings
        let now = server.clock.now
        var user: String?
        var response: Response
        do {
            let caller = try await caller(of: request)
            user = caller?.user.username
            let (name, limit) = (user, settings.rateLimit)
            let quota = await server.gistControls.rateLimits.quota(of: name, limit: limit, now: now)
            guard quota.remaining > 0 else { throw GistError.rateLimited(name ?? request.head.authority ?? "") }
            try await admit(request, by: name, settings: settings, now: now)
            response = try await handle(
                GistCall(
                    request: request,
                    context: context,
                    server: server,
                    settings: settings,
                    origin: try Origin(of: request, settings: server.settings),
                    caller: caller
                )
            )
        } catch let error as GistError {
            response = try error.response(from: request, context: context)
            if error.status == .unauthorized, settings.challenges {
                response.headers[.wwwAuthenticate] = Self.challenge(for: error)
            }
        }
        if response.headers[.contentType] == "application/json" {
            response.headers[.contentType] = "application/json; charset=utf-8"
        }
        let quota = await quota(of: user, after: response.status, settings: settings, now: now)
        response.headers.append(contentsOf: Self.fields(quota))
        return response
    }

    private func caller(of request: Request) async throws -> GistCaller? {
        guard request.headers[.authorization] != nil else { return nil }
        guard let token = request.headers.bearerToken else { throw GistError.badCredentials }
        return try await server.gistCaller(accessToken: token)
    }

    /// - Throws: `GistError` if the request is a change too soon after another one.
    private func admit(_ request: Request, by user: String?, settings: GistSettings, now: Date) async throws {
        guard let user, request.method != .get else { return }
        let interval = settings.changeInterval
        let missing = await server.updateGistControls {
            $0.rateLimits.admitChange(by: user, interval: interval, now: now)
        }
        if let missing {
            throw GistError.secondaryRateLimited(retryAfter: Int(missing.rounded(.up)))
        }
    }

    /// A response without changes does not count.
    ///
    /// Source: https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api
    private func quota(
        of user: String?,
        after status: HTTPResponse.Status,
        settings: GistSettings,
        now: Date
    ) async -> GistRateLimits.Quota {
        let limit = settings.rateLimit
        return await server.updateGistControls { controls in
            status == .notModified
                ? controls.rateLimits.quota(of: user, limit: limit, now: now)
                : controls.rateLimits.count(for: user, limit: limit, now: now)
        }
    }

    private static func fields(_ quota: GistRateLimits.Quota) -> HTTPFields {
        [
            .gitHubMediaType: "github.v3; format=json",
            .gitHubRequestID: UUID().uuidString,
            .vary: "Accept, Authorization, Cookie, X-GitHub-OTP, Accept-Encoding, X-Requested-With",
            .rateLimit("Limit"): String(quota.limit),
            .rateLimit("Remaining"): String(quota.remaining),
            .rateLimit("Used"): String(quota.used),
            .rateLimit("Reset"): String(Int(quota.reset.timeIntervalSince1970)),
            .rateLimit("Resource"): "core",
        ]
    }

    private static func challenge(for error: GistError) -> String {
        guard error == .badCredentials else { return BearerChallenge.noToken.fieldValue }
        return BearerChallenge(.invalidToken, "access token is expired, revoked or unknown").fieldValue
    }
}

extension HTTPField.Name {
    fileprivate static let gitHubMediaType = Self("X-GitHub-Media-Type")!
    fileprivate static let gitHubRequestID = Self("X-GitHub-Request-Id")!

    static func rateLimit(_ name: String) -> Self { Self("X-RateLimit-\(name)")! }
}
