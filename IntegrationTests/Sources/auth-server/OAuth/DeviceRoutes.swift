import HTTPTypes
import Hummingbird

/// `POST` at the device authorization endpoint, and the page for the user's approval, with `GET` and `POST`.
///
/// Source: RFC 8628, sections 3.1 to 3.3.
struct DeviceRoutes: Sendable {
    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        let endpoints = server.settings.personality.endpoints
        router.post(RouterPath(endpoints.deviceAuthorization), use: begin)
        router.get(RouterPath(endpoints.devicePage), use: page)
        router.post(RouterPath(endpoints.devicePage), use: decide)
    }

    @Sendable
    private func begin(_ request: Request, context: ServerContext) async throws -> Response {
        let settings = server.settings
        let personality = settings.personality
        let form = try await OAuthForm(request, context: context, server: server)
        let origin = try Origin(of: request, settings: settings)
        let codes = try await server.beginDeviceAuthorization(
            scope: form.scope() ?? settings.defaultScope,
            target: form.target()
        )
        let page = origin.url(personality.endpoints.devicePage)
        let response: JSONObject = [
            "device_code": .string(codes.deviceCode),
            "user_code": .string(codes.userCode),
            "verification_uri": .string(page),
            "verification_uri_complete": .string(page + "?user_code=\(codes.userCode)"),
            "expires_in": .integer(settings.deviceCodeLifetime),
            "interval": .integer(settings.deviceInterval),
        ]
        return try personality.encode(personality.deviceResponse(response), for: request)
    }

    /// The path of the form's request, which is the page itself.
    private var action: String { server.settings.personality.endpoints.devicePage }

    @Sendable
    private func page(_ request: Request, context: ServerContext) async throws -> Response {
        let userCode = request.uri.queryParameters["user_code"].map(String.init) ?? ""
        return .html(DevicePage.form(userCode: userCode, action: action))
    }

    @Sendable
    private func decide(_ request: Request, context: ServerContext) async throws -> Response {
        let form = try await FormBody.parameters(of: request, context: context)
        let userCode = form["user_code"] ?? ""
        let approves = form["decision"] != "deny"
        let isDone = try await server.decide(
            userCode: userCode,
            username: form["username"] ?? "",
            password: form["password"] ?? "",
            approves: approves
        )
        guard isDone else {
            let notice = "The code, the username or the password is wrong, or the code has expired."
            return .html(DevicePage.form(userCode: userCode, action: action, notice: notice), status: .badRequest)
        }
        return .html(DevicePage.result(approves ? "You are signed in on your device." : "The sign-in was refused."))
    }
}
