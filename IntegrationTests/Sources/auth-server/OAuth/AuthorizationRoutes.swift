import HTTPTypes
import Hummingbird

/// `GET` and `POST` at the authorization endpoint: the page on which a user signs in with the browser.
///
/// Source: RFC 6749, section 4.1; RFC 7636; RFC 9207.
struct AuthorizationRoutes: Sendable {
    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        let path = RouterPath(server.settings.personality.endpoints.authorization)
        router.get(path, use: page)
        router.post(path, use: decide)
        if let pushed = server.settings.personality.endpoints.pushedAuthorization {
            router.post(RouterPath(pushed), use: push)
        }
    }

    /// Source: RFC 9126, section 2.
    @Sendable
    private func push(_ request: Request, context: ServerContext) async throws -> Response {
        let form = try await OAuthForm(request, context: context, server: server)
        _ = try await server.provenKey(in: request)
        let body: JSONObject = ["request_uri": .string(await server.push(form.parameters)), "expires_in": .integer(60)]
        return try .json(body, status: .created, headers: .neverStored)
    }

    @Sendable
    private func page(_ request: Request, context: ServerContext) async throws -> Response {
        try await respond(to: request) {
            let query = try FormBody.parameters(in: request.uri.query ?? "")
            let authorization = try authorizationRequest(await server.parameters(of: query, isForm: false))
            return form(for: authorization)
        }
    }

    @Sendable
    private func decide(_ request: Request, context: ServerContext) async throws -> Response {
        try await respond(to: request) {
            let fields = try await FormBody.parameters(of: request, context: context)
            let authorization = try authorizationRequest(await server.parameters(of: fields, isForm: true))
            guard fields["decision"] != "deny" else {
                throw authorization.refusal(OAuthError(.accessDenied, "the user refused"))
            }
            let (username, password) = (fields["username"] ?? "", fields["password"] ?? "")
            let code = try await server.authorize(authorization, username: username, password: password)
            guard let code else {
                let notice = "The username or the password is wrong."
                return form(for: authorization, username: username, notice: notice)
            }
            return try await redirect(
                request,
                to: authorization.redirectURI,
                [("code", code)],
                state: authorization.state
            )
        }
    }

    private func authorizationRequest(_ parameters: [String: String]) throws -> AuthorizationRequest {
        try AuthorizationRequest(
            parameters.filter { !AuthorizationPage.ownFields.contains($0.key) },
            settings: server.settings
        )
    }

    /// Reports an invalid request on a page or, if possible, to the client's redirect URI.
    private func respond(to request: Request, _ body: () async throws -> Response) async throws -> Response {
        do {
            return try await body()
        } catch let error as AuthorizationRequest.Refusal {
            let parameters = [("error", error.error.code.rawValue), ("error_description", error.error.explanation)]
            return try await redirect(request, to: error.redirectURI, parameters, state: error.state)
        } catch let error as AuthorizationRequest.Untrusted {
            return .html(AuthorizationPage.failure(error.explanation), status: .badRequest)
        } catch is OAuthError {
            return .html(AuthorizationPage.failure("The request is malformed."), status: .badRequest)
        }
    }

    private func form(for request: AuthorizationRequest, username: String = "", notice: String = "") -> Response {
        .html(
            AuthorizationPage.form(
                request,
                action: server.settings.personality.endpoints.authorization,
                username: username,
                notice: notice
            ),
            status: notice.isEmpty ? .ok : .badRequest,
            formTarget: request.redirectURI.formTarget
        )
    }

    /// Source: RFC 9700, section 4.12: with status 303, a browser never forwards the password.
    private func redirect(
        _ request: Request,
        to redirectURI: RedirectURI,
        _ parameters: [(name: String, value: String)],
        state: String?
    ) async throws -> Response {
        let origin = try Origin(of: request, settings: server.settings)
        let personality = server.settings.personality
        var named: JSONObject = [:]
        if personality.namesIssuerInResponses { named["iss"] = .string(personality.issuer(for: origin)) }
        named = await server.altered(named, of: .authorization)
        let issuer: String? = if case .string(let text)? = named["iss"] { text } else { nil }
        let others = [("state", state), ("iss", issuer)].compactMap { name, value in value.map { (name, $0) } }
        var headers = HTTPFields.neverStored
        headers[.location] = redirectURI.appending(parameters + others)
        return Response(status: .seeOther, headers: headers)
    }
}
