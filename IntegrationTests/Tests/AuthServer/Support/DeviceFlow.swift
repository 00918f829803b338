import HTTPTypes

@testable import auth_server

/// A device sign-in at the endpoints of a service.
struct DeviceFlow: Sendable {
    static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

    let api: API
    let endpoints: Endpoints
    let begun: API.Response
    /// Further fields of every poll.
    let extra: [(String, String)]

    private static let headers: HTTPFields = [.accept: "application/json"]

    /// Requests the codes in JSON.
    init(
        _ api: API,
        _ personality: Personality,
        scope: String? = nil,
        extra: [(String, String)] = []
    ) async throws {
        self.api = api
        self.extra = extra
        endpoints = personality.endpoints
        var fields = [("client_id", "account-cli")]
        if let scope { fields.append(("scope", scope)) }
        begun = try await api.form(endpoints.deviceAuthorization, fields, headers: Self.headers)
    }

    func poll(_ deviceCode: String? = nil) async throws -> API.Response {
        let code = try deviceCode ?? begun.string("device_code")
        let fields = [("client_id", "account-cli"), ("grant_type", Self.grantType), ("device_code", code)]
        return try await api.form(endpoints.token, fields + extra, headers: Self.headers)
    }

    func decide(_ decision: String = "approve") async throws -> API.Response {
        let code = try begun.string("user_code")
        let fields = [("username", "alice"), ("password", API.alicePassword), ("decision", decision)]
        return try await api.form(endpoints.devicePage, [("user_code", code)] + fields)
    }
}
