#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The rules for proofs of possession (RFC 9449), and the proofs that the server has accepted.
///
/// The ledger stays in memory, so a restarted server requires new nonces.
struct ProofLedger: Sendable {
    /// A role of the server. Each role has its own nonces (RFC 9449, section 9).
    enum Role: Sendable {
        case authorizationServer
        case api
    }

    /// The time by which the date of a proof may differ from the server's clock, in seconds.
    static let tolerance: TimeInterval = 60

    private var nonces: [Role: String] = [:]
    private var used: Set<String> = []

    /// The nonce that the next proof must contain.
    mutating func nonce(for role: Role) -> String {
        let nonce = nonces[role] ?? RandomText.token(prefix: "nonce_")
        nonces[role] = nonce
        return nonce
    }

    /// Replaces all nonces, so that the server accepts no proof with an earlier one.
    mutating func renewNonces() { nonces = [:] }

    /// Checks a proof for a request. Throws a `DPoPRefusal` if the proof is not valid.
    mutating func check(
        _ proof: DPoPProof, method: String, url: String, accessToken: String?, nonce: String?, now: Date
    ) throws {
        guard proof.method == method else { throw DPoPRefusal("the proof is for another method") }
        guard proof.url == url else { throw DPoPRefusal("the proof is for another URL") }
        guard abs(proof.issuedAt.timeIntervalSince(now)) <= Self.tolerance else {
            throw DPoPRefusal("the date of the proof is too far from the server's")
        }
        guard proof.accessTokenHash == accessToken.map({ SHA256.hash($0).base64URL }) else {
            throw DPoPRefusal("the proof is for another access token")
        }
        if let nonce, proof.nonce != nonce { throw DPoPRefusal("the proof needs the nonce", requiresNonce: true) }
        guard used.insert(proof.id).inserted else { throw DPoPRefusal("the proof was used before") }
    }
}

/// Whether clients can bind tokens to a key (RFC 9449).
enum ProofPolicy: String, CaseIterable, Sendable {
    case off
    /// Without nonces.
    case on
    /// With a nonce in each proof.
    case nonces
}
