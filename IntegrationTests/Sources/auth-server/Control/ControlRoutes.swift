import HTTPTypes
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
/// | `POST /control/answers` | `{"name":"reauthentication","times":1}`: the imitated service gives this answer | `{}` |
/// | `GET /control/answers` | | `{"answers":[…]}`, see `ServiceAnswer` |
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

    private struct Answer: Decodable {
        let name: String
        let times: Int?
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

    func add(to control: ControlGroup) {
        addFaults(to: control)
        addAnswers(to: control)
        addTokens(to: control)
        addGates(to: control)
        control.on(.post, "clock", members: ["offsetSeconds"]) { (offset: Offset, _) in
            guard abs(offset.offsetSeconds) <= Self.greatestOffset else {
                throw ControlError(message: "offsetSeconds is more than a hundred years")
            }
            server.clock.offset = offset.offsetSeconds
            return ["offsetSeconds": offset.offsetSeconds]
        }
        for response in Controls.AlterableResponse.allCases {
            control.on(.post, response.rawValue, members: nil) { (alteration: ResponseAlteration, _) in
                await server.updateControls { $0.alterations[response] = alteration }
                return JSONObject()
            }
        }
        control.on(.delete, "nonces") { _ in
            await server.updateProofs { $0.renewNonces() }
            return JSONObject()
        }
        control.on(.get, "clients") { _ in ["clients": server.settings.clients.all.map(\.id).sorted()] }
        control.on(.delete, "clients") { _ in
            server.settings.clients.removeAll()
            return JSONObject()
        }
        control.on(.get, "log") { _ in await server.updateLog { $0 } }
        control.on(.delete, "log") { _ in
            await server.updateLog { $0.clear() }
            return JSONObject()
        }
    }

    private func addFaults(to control: ControlGroup) {
        control.on(.post, "faults", members: ["faults", "keep"]) { (faults: Faults, _) in
            await server.updateControls { controls in
                if faults.keep != true { controls.faults = FaultList() }
                controls.faults.add(faults.faults)
            }
            return ["faults": faults.faults.count]
        }
        control.on(.delete, "faults") { _ in
            await server.updateControls { $0.faults = FaultList() }
            return JSONObject()
        }
    }

    private func addAnswers(to control: ControlGroup) {
        let personality = server.settings.personality
        control.on(.get, "answers") { _ in ["answers": personality.answers] }
        control.on(.post, "answers", members: ["name", "times"]) { (wanted: Answer, _) in
            guard let answer = personality.answers.first(where: { $0.name == wanted.name }) else {
                throw ControlError(message: "\(personality.name) has no answer with this name")
            }
            let fault = answer.fault(at: personality.endpoints, times: wanted.times)
            await server.updateControls { $0.faults = FaultList([fault]) }
            return JSONObject()
        }
    }

    private func addTokens(to control: ControlGroup) {
        control.on(.get, "tokens") { address in ["tokens": await server.liveTokens(of: address.user)] }
        control.on(.post, "expire") { _ in ["expired": try await server.expireAccessTokens()] }
        control.on(.post, "revoke", members: ["user"]) { (revocation: Revocation, _) in
            let user = try revocation.user.map { try server.knownUser($0) }
            return ["revoked": try await server.endGrants(of: user)]
        }
    }

    private func addGates(to control: ControlGroup) {
        control.on(.post, "gates/open", members: ["gate"]) { (gate: Gate, _) in
            ["released": await server.gates.open(gate.gate)]
        }
        control.on(.post, "gates/close", members: ["gate"]) { (gate: Gate, _) in
            await server.gates.close(gate.gate)
            return JSONObject()
        }
        control.on(.post, "gates/wait", members: ["gate", "count"]) { (gate: Gate, _) in
            let gates = server.gates
            do {
                try await cancelWhenGracefulShutdown { try await gates.waitForArrivals(gate.count ?? 1, at: gate.gate) }
            } catch is CancellationError {
                throw ControlError(message: "the server ends")
            }
            return JSONObject()
        }
    }
}
