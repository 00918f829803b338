import HTTPTypes
import Hummingbird

/// `POST /oauth/device_authorization`, and the page on which the user agrees: `GET` and `POST /device`.
///
/// Source: RFC 8628, sections 3.1 to 3.3.
struct DeviceRoutes: Sendable {
    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        router.post("oauth/device_authorization", use: begin)
        router.get("device", use: page)
        router.post("device", use: decide)
    }

    @Sendable
    private func begin(_ request: Request, context: ServerContext) async throws -> Response {
        let settings = server.settings
        let form = try await OAuthForm(request, context: context, clientID: settings.clientID)
        let origin = try Origin(of: request, usesTLS: settings.usesTLS)
        let codes = try await server.beginDeviceAuthorization(scope: form.scope() ?? .all)
        let reply: JSONObject = [
            "device_code": .string(codes.deviceCode),
            "user_code": .string(codes.userCode),
            "verification_uri": .string(origin.url("/device")),
            "verification_uri_complete": .string(origin.url("/device?user_code=\(codes.userCode)")),
            "expires_in": .integer(settings.deviceCodeLifetime),
            "interval": .integer(settings.deviceInterval),
        ]
        return try .json(reply, headers: .neverStored)
    }

    @Sendable
    private func page(_ request: Request, context: ServerContext) async throws -> Response {
        let userCode = request.uri.queryParameters["user_code"].map(String.init) ?? ""
        return .html(DevicePage.form(userCode: userCode))
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
            return .html(DevicePage.form(userCode: userCode, notice: notice), status: .badRequest)
        }
        return .html(DevicePage.result(approves ? "You are signed in on your device." : "The sign-in was refused."))
    }
}
