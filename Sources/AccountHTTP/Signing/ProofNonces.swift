import AccountKit
import AccountSupport
import HTTPTypes
import Synchronization

/// The nonces that servers require in proofs, and the differences of their clocks (RFC 9449, sections 8 and 9). They stay
/// in memory, except the last nonce of an authorization server, which is stored with the key.
final class ProofNonces: Sendable {
    /// A server has separate nonces as an authorization server and as an API.
    private struct Server: Hashable {
        var origin: ServiceURL
        var isAPI: Bool
    }

    private let states = Mutex<[Server: SentProof]>([:])

    /// Adds a new proof to a request that needs one.
    ///
    /// - Throws: `misconfigured` if this program cannot sign.
    func prove(_ request: inout ServiceRequest, at date: Date) throws(AuthorityError) {
        guard let key = request.key else { return }
        let server = Self.server(of: request)
        let state = state(of: server, for: key)
        var proof = DPoPProof(
            method: request.method.rawValue, url: request.url, nonce: state.nonce,
            date: date.addingTimeInterval(state.clockOffset.seconds))
        if case .bound(let token)? = request.authorization { proof.accessToken = token }
        request.headerFields[.dpop] = try proof.signed(with: key)
        request.proof = state
    }

    /// Whether this process has received a nonce for the server of a request within the last 30 seconds. A server may refuse an
    /// older nonce (RFC 9449, section 8).
    func hasFreshNonce(for request: ServiceRequest, at date: Date) -> Bool {
        let server = Self.server(of: request)
        guard let state = states.withLock({ $0[server] }), state.nonce != nil, let receivedAt = state.receivedAt else {
            return false
        }
        return 0...30 ~= date.timeIntervalSince(receivedAt)
    }

    /// Returns what this process knows of a server, or else the nonce that is stored with the key.
    private func state(of server: Server, for key: ProofKey) -> SentProof {
        states.withLock { $0[server] } ?? SentProof(nonce: server.isAPI ? nil : key.nonce)
    }

    /// Remembers the nonce and the clock in a response.
    func note(_ response: ServiceResponse, to request: ServiceRequest) {
        guard let key = request.key else { return }
        let server = Self.server(of: request)
        let stored = state(of: server, for: key)
        states.withLock { states in
            var state = states[server] ?? stored
            if let nonce = response.nonce { (state.nonce, state.receivedAt) = (nonce, response.receivedAt) }
            state.clockOffset = response.clockOffset ?? state.clockOffset
            states[server] = state
        }
    }

    /// Sends a request, and sends it once more with another proof if the server refused only the nonce or the date of the
    /// first proof.
    func exchange(
        _ request: ServiceRequest, clock: any WallClock, send: (ServiceRequest) async throws -> ServiceResponse
    ) async throws -> ServiceResponse {
        var request = request
        try prove(&request, at: clock.now)
        let response = try await send(request)
        note(response, to: request)
        guard request.isWorthRepeating(after: response) else { return response }
        try prove(&request, at: clock.now)
        let repeated = try await send(request)
        note(repeated, to: request)
        return repeated
    }

    private static func server(of request: ServiceRequest) -> Server {
        let isAPI = if case .bound? = request.authorization { true } else { false }
        return Server(origin: request.url.origin, isAPI: isAPI)
    }
}

/// The parts of a proof that its server may refuse.
struct SentProof: Sendable, Hashable {
    var nonce: String?

    /// The date when this process received the nonce.
    var receivedAt: Date?

    /// The time by which the clock of the server is ahead.
    var clockOffset = Duration.zero
}

extension ServiceRequest {
    /// Returns whether the server refused only the nonce or the date of the proof, and sent what another proof needs. The
    /// server has then carried out nothing.
    func isWorthRepeating(after response: ServiceResponse) -> Bool {
        guard !isForNonceOnly, let proof, let error = response.proofError else { return false }
        if error == "use_dpop_nonce" { return response.nonce.map { $0 != proof.nonce } ?? false }
        // The date of a proof must be within seconds or minutes of the server's clock (RFC 9449, section 11.1).
        guard let offset = response.clockOffset else { return false }
        return abs((offset - proof.clockOffset).seconds) > 5
    }
}

extension ServiceResponse {
    /// The nonce for the next proof (RFC 9449, section 8.1); `nil` if there is none, or none that a proof can contain.
    var nonce: String? {
        head.headerFields[values: .dpopNonce].first { DPoPProof.isNonce($0) }
    }

    /// The error if the server refused the proof of a request: in the body of the authorization server, or in the
    /// challenge of an API (RFC 9449, sections 7.1, 8 and 9).
    fileprivate var proofError: String? {
        guard status == 400 || status == 401 else { return nil }
        let challenge = challenges.first { $0.scheme == "dpop" }?.parameters["error"]
        let error = challenge ?? ResponseObject(body, secrets: [])?.members["error"]?.string
        return error.flatMap { ["use_dpop_nonce", "invalid_dpop_proof"].contains($0) ? $0 : nil }
    }
}

extension HTTPField.Name {
    /// The field that contains a proof (RFC 9449, section 4.1).
    static let dpop = HTTPField.Name("DPoP")!

    /// The field that contains a nonce for proofs (RFC 9449, section 8.1).
    static let dpopNonce = HTTPField.Name("DPoP-Nonce")!
}
