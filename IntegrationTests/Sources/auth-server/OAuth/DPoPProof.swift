import Crypto
import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A proof of a client, whose signature is valid.
///
/// Source: RFC 9449, sections 4.2 and 4.3; RFC 7515, section 7.1; RFC 7518, section 3.4.
struct DPoPProof: Sendable {
    /// The thumbprint of the key (RFC 7638, section 3.1).
    let thumbprint: String

    let id: String
    let method: String
    let url: String
    let issuedAt: Date
    let accessTokenHash: String?
    let nonce: String?

    private struct Header: Decodable {
        let typ: String
        let alg: String
        let jwk: [String: String]
    }

    private struct Claims: Decodable {
        let jti: String
        let htm: String
        let htu: String
        let iat: Int
        let ath: String?
        let nonce: String?
    }

    /// Reads a proof and checks its signature. Throws the reason why the proof is not valid.
    init(_ text: String) throws {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { Data(base64URL: $0) }
        guard parts.count == 3, let head = parts[0], let payload = parts[1], let signature = parts[2] else {
            throw DPoPRefusal("the proof is not a signed token")
        }
        guard let header = try? JSONDecoder().decode(Header.self, from: head),
            let claims = try? JSONDecoder().decode(Claims.self, from: payload)
        else { throw DPoPRefusal("the proof lacks a required member") }
        guard header.typ == "dpop+jwt" else { throw DPoPRefusal("the proof has another type") }
        guard header.alg == "ES256", header.jwk["kty"] == "EC", header.jwk["crv"] == "P-256", header.jwk["d"] == nil,
            let x = header.jwk["x"], let y = header.jwk["y"],
            let point = Data(base64URL: x).flatMap({ x in
                Data(base64URL: y).map { x + $0 }
            })
        else { throw DPoPRefusal("the key of the proof is not a public key for ES256") }
        let message = Data(text[..<(text.lastIndex(of: ".") ?? text.endIndex)].utf8)
        guard let key = try? P256.Signing.PublicKey(rawRepresentation: point),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.isValidSignature(signature, for: message)
        else { throw DPoPRefusal("the signature of the proof is not valid") }
        thumbprint = SHA256.hash(#"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#).base64URL
        (id, method, url) = (claims.jti, claims.htm, claims.htu)
        (accessTokenHash, nonce) = (claims.ath, claims.nonce)
        issuedAt = Date(timeIntervalSince1970: TimeInterval(claims.iat))
    }
}

/// The reason why the server refuses a proof.
struct DPoPRefusal: Error, Equatable {
    let explanation: String

    /// Whether the proof needs the server's nonce.
    let requiresNonce: Bool

    init(_ explanation: String, requiresNonce: Bool = false) {
        self.explanation = explanation
        self.requiresNonce = requiresNonce
    }

    /// The error code of RFC 9449, section 12.2.
    var code: String { requiresNonce ? "use_dpop_nonce" : "invalid_dpop_proof" }
}

extension Data {
    fileprivate init?(base64URL text: some StringProtocol) {
        guard !text.contains(where: { "+/=".contains($0) }) else { return nil }
        let base64 = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        self.init(base64Encoded: base64 + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4))
    }
}
