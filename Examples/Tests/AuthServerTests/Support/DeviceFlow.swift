import HTTPTypes

@testable import auth_server

/// A sign-in on a device, at the endpoints of a manner.
struct DeviceFlow: Sendable {
    static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

    let api: API
    let endpoints: Endpoints
    let begun: API.Reply
    /// What the client sends besides, with every poll.
    let extra: [(String, String)]
    let headers: HTTPFields

    /// Asks for the codes, in JSON.
    init(
        _ api: API,
        _ manner: some Manner,
        scope: String? = nil,
        extra: [(String, String)] = [],
        headers: HTTPFields = [.accept: "application/json"]
    ) async throws {
        self.api = api
        self.extra = extra
        self.headers = headers
        endpoints = manner.endpoints
        var fields = [("client_id", "account-cli")]
        if let scope { fields.append(("scope", scope)) }
        begun = try await api.form(endpoints.deviceAuthorization, fields, headers: headers)
    }

    func poll(_ deviceCode: String? = nil) async throws -> API.Reply {
        let code = try deviceCode ?? begun.string("device_code")
        let fields = [("client_id", "account-cli"), ("grant_type", Self.grantType), ("device_code", code)]
        return try await api.form(endpoints.token, fields + extra, headers: headers)
    }

    func decide(_ decision: String = "approve") async throws -> API.Reply {
        let code = try begun.string("user_code")
        let fields = [("username", "alice"), ("password", API.alicePassword), ("decision", decision)]
        return try await api.form(endpoints.devicePage, [("user_code", code)] + fields)
    }
}

extension TestServer {
    /// A server in the manner of a service.
    init(_ manner: some Manner) throws {
        var settings = ServerSettings()
        settings.manner = manner
        try self.init(settings: settings)
    }
}
