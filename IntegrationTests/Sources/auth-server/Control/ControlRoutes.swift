import HTTPTypes
import Hummingbird
import ServiceLifecycle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The control endpoints, which make the server fail, send wrong data or forget data, so that tests can observe a
/// client.
///
/// ## Control
///
/// Any program that can connect can use these endpoints, which is why the server listens on the loopback interface
/// only. Requests and responses are JSON. An invalid request, including one with unknown members, gets `400` and
/// `{"error":"bad_control","message":…}`. Faults do not apply to control requests, and the request log omits them.
///
/// | request | body | response |
/// | --- | --- | --- |
/// | `POST /control/faults` | `{"faults":[…]}`, see `Fault`; replaces the list, unless `"keep":true` | `{"faults":1}` |
/// | `DELETE /control/faults` | | `{}` |
/// | `POST /control/expire` | | `{"expired":1}`: the number of access tokens |
/// | `POST /control/revoke` | `{"user":"alice"}`, or nothing for all users | `{"revoked":1}`: the number of grants |
/// | `GET /control/tokens?user=alice` | | `{"tokens":[…]}`, see `LiveToken`: the valid tokens |
/// | `POST /control/gates/open` | `{"gate":"late"}` | `{"released":1}`: the number of responses that were held there |
/// | `POST /control/gates/close` | the same | `{}` |
/// | `POST /control/gates/wait` | `{"gate":"late","count":1}` | `{}`, once that many responses have been held there |
/// | `POST /control/clock` | `{"offsetSeconds":3600}` | `{"offsetSeconds":3600}` |
/// | `POST /control/token-response` | `{"omit":["refresh_token"],"set":{"expires_in":-5}}`; `{}` restores | `{}` |
/// | `POST /control/userinfo-response` | the same | `{}` |
/// | `POST /control/id-token` | the same, for the claims of ID tokens from now on | `{}` |
/// | `POST /control/discovery-response` | the same | `{}` |
/// | `POST /control/openid-configuration-response` | the same, for one of the two documents | `{}` |
/// | `POST /control/authorization-server-metadata-response` | the same, for the other | `{}` |
/// | `POST /control/resource-metadata-response` | the same, for the metadata of the API | `{}` |
/// | `POST /control/registration-response` | the same | `{}` |
/// | `POST /control/authorization-response` | the same, for `iss` in the redirect to the client | `{}` |
/// | `DELETE /control/nonces` | | `{}`: the server requires new nonces in proofs |
/// | `GET /control/clients` | | `{"clients":["client_…"]}`: the registered clients |
/// | `DELETE /control/clients` | | `{}`: the server forgets its registered clients |
/// | `GET /control/log` | | `{"requests":[{"method","path","grantType"?,…}],"counts":{…}}` |
/// | `DELETE /control/log` | | `{}` |
///
/// `counts` has one number for each path, and `refreshes` (refresh requests received), `rotations` (refresh tokens
/// exchanged) and `reuseAlarms` (sessions ended because a spent refresh token was used again). `GistControlRoutes` has
/// further endpoints.
struct ControlRoutes: Sendable {
    private struct Faults: Decodable {
        let faults: [Fault]
        let keep: Bool?
    }

    private struct Revocation: Decodable {
        let user: String?
    }

    private struct Offset: Decodable {
        let offsetSeconds: Double
    }

    private struct Gate: Decodable {
        let gate: String
        let count: Int?
    }

    /// A hundred years. With a larger offset, years no longer have four digits.
    private static let greatestOffset = 100 * 365.25 * 86_400

    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        let control = router.group("control")
        control.post("faults", use: setFaults)
        control.delete("faults", use: clearFaults)
        control.post("expire", use: expire)
        control.post("revoke", use: revoke)
        control.post("clock", use: setClock)
        for response in Controls.AlterableResponse.allCases {
            control.post(RouterPath(response.rawValue)) { request, context in
                let alteration: ResponseAlteration = try await request.controlBody(context)
                await server.updateControls { $0.alterations[response] = alteration }
                return try Response.json(JSONObject())
            }
        }
        control.get("tokens", use: tokens)
        control.post("gates/open", use: openGate)
        control.post("gates/close", use: closeGate)
        control.post("gates/wait", use: waitAtGate)
        control.delete("nonces", use: renewNonces)
        control.get("clients", use: clients)
        control.delete("clients", use: forgetClients)
        control.get("log", use: log)
        control.delete("log", use: clearLog)
    }

    @Sendable
    private func setFaults(_ request: Request, context: ServerContext) async throws -> Response {
        let faults: Faults = try await request.controlBody(context, members: ["faults", "keep"])
        await server.updateControls { controls in
            if faults.keep != true { controls.faults = FaultList() }
            controls.faults.add(faults.faults)
        }
        return try .json(["faults": faults.faults.count])
    }

    @Sendable
    private func clearFaults(_ request: Request, context: ServerContext) async throws -> Response {
        await server.updateControls { $0.faults = FaultList() }
        return try .json(JSONObject())
    }

    @Sendable
    private func expire(_ request: Request, context: ServerContext) async throws -> Response {
        try .json(["expired": try await server.expireAccessTokens()])
    }

    @Sendable
    private func revoke(_ request: Request, context: ServerContext) async throws -> Response {
        let revocation: Revocation = try await request.controlBody(context, members: ["user"])
        if let user = revocation.user, server.settings.users[user] == nil {
            throw ControlError(message: "there is no such user")
        }
        return try .json(["revoked": try await server.endGrants(of: revocation.user)])
    }

    @Sendable
    private func setClock(_ request: Request, context: ServerContext) async throws -> Response {
        let offset: Offset = try await request.controlBody(context, members: ["offsetSeconds"])
        guard abs(offset.offsetSeconds) <= Self.greatestOffset else {
            throw ControlError(message: "offsetSeconds is more than a hundred years")
        }
        server.clock.offset = offset.offsetSeconds
        return try .json(["offsetSeconds": offset.offsetSeconds])
    }

    @Sendable
    private func tokens(_ request: Request, context: ServerContext) async throws -> Response {
        let user = request.uri.queryParameters["user"].map(String.init)
        if let user, server.settings.users[user] == nil {
            throw ControlError(message: "there is no such user")
        }
        return try .json(["tokens": await server.liveTokens(of: user)])
    }

    @Sendable
    private func renewNonces(_ request: Request, context: ServerContext) async throws -> Response {
        await server.updateProofs { $0.renewNonces() }
        return try .json(JSONObject())
    }

    @Sendable
    private func clients(_ request: Request, context: ServerContext) async throws -> Response {
        try .json(["clients": server.settings.clients.all.map(\.id).sorted()])
    }

    @Sendable
    private func forgetClients(_ request: Request, context: ServerContext) async throws -> Response {
        server.settings.clients.removeAll()
        return try .json(JSONObject())
    }

    @Sendable
    private func openGate(_ request: Request, context: ServerContext) async throws -> Response {
        let gate: Gate = try await request.controlBody(context, members: ["gate"])
        return try .json(["released": await server.gates.open(gate.gate)])
    }

    @Sendable
    private func closeGate(_ request: Request, context: ServerContext) async throws -> Response {
        let gate: Gate = try await request.controlBody(context, members: ["gate"])
        await server.gates.close(gate.gate)
        return try .json(JSONObject())
    }

    @Sendable
    private func waitAtGate(_ request: Request, context: ServerContext) async throws -> Response {
        let gate: Gate = try await request.controlBody(context, members: ["gate", "count"])
        let gates = server.gates
        do {
            try await cancelWhenGracefulShutdown { try await gates.waitForArrivals(gate.count ?? 1, at: gate.gate) }
        } catch is CancellationError {
            throw ControlError(message: "the server ends")
        }
        return try .json(JSONObject())
    }

    @Sendable
    private func log(_ request: Request, context: ServerContext) async throws -> Response {
        try .json(await server.updateLog { $0 })
    }

    @Sendable
    private func clearLog(_ request: Request, context: ServerContext) async throws -> Response {
        await server.updateLog { $0.clear() }
        return try .json(JSONObject())
    }
}
