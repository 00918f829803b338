import AccountCrypto
import AccountKit
import AccountSupport
import HTTPTypes

/// Proves that the sender of a request has a key (RFC 9449, section 4.2).
struct DPoPProof: Sendable {
    /// The method of the request.
    var method: String

    /// The URL of the request. The proof contains it without the query.
    var url: ServiceURL

    /// The access token in the request; `nil` for a request to the authorization server.
    var accessToken: Secret?

    /// The nonce that the server requires, if any (RFC 9449, sections 8 and 9).
    var nonce: String?

    /// The date by the clock of the server, as far as that clock is known.
    var date: Date

    /// The identifier of the proof, because servers accept each proof only once.
    var id = Base64URL.random()

    /// Returns whether a proof can contain a nonce (RFC 9449, section 8.1).
    static func isNonce(_ nonce: String) -> Bool {
        !nonce.isEmpty && nonce.utf8.count <= 1024
            && nonce.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }

    /// Returns the value of the header field `DPoP`.
    ///
    /// - Throws: `misconfigured` if this program cannot sign.
    func signed(with key: ProofKey) throws(AuthorityError) -> String {
        #if Signatures
        let key = try key.signingKey()
        do {
            let publicKey = try key.publicKey.map { (name: $0.name, value: JSONText(string: $0.value)) }
            return try key.token(
                header: [("typ", JSONText(string: "dpop+jwt")), ("jwk", JSONText(members: publicKey))], claims: claims)
        } catch {
            throw .misconfigured("this program cannot sign with the key of the session")
        }
        #else
        throw ProofKey.unsupported
        #endif
    }

    private var claims: [(name: String, value: JSONText)] {
        let seconds = Int(date.timeIntervalSince1970.rounded(.down))
        var claims = [
            (name: "jti", value: JSONText(string: id)), (name: "htm", value: JSONText(string: method)),
            (name: "htu", value: JSONText(string: target)), (name: "iat", value: JSONText(integer: seconds)),
        ]
        if let accessToken {
            let hash = accessToken.withUnsafeBytes { Sodium.sha256($0) }
            claims.append((name: "ath", value: JSONText(string: Base64URL.encode(hash))))
        }
        if let nonce { claims.append((name: "nonce", value: JSONText(string: nonce))) }
        return claims
    }

    /// The URL without query and fragment. An empty path is equivalent to `/` (RFC 3986, section 6.2.3).
    private var target: String { ServiceURL(at: url, path: url.path.isEmpty ? "/" : url.path).description }
}

extension DPoPProof {
    /// Creates the proof for a request of another program.
    ///
    /// - Throws: An `AccountError`: `invalidArgument` if the request cannot contain a token.
    init(method: String, url: String, accessToken: Secret, nonce: String?, date: Date) throws(AccountError) {
        let target: ServiceURL
        do throws(ServiceURL.Flaw) {
            target = try ServiceURL(url)
        } catch {
            throw AccountError(.invalidArgument, "the URL of the request \(error.text)")
        }
        guard let method = HTTPRequest.Method(method) else {
            throw AccountError(.invalidArgument, "the method of the request must be a name, such as GET")
        }
        if let nonce, !Self.isNonce(nonce) {
            throw AccountError(.invalidArgument, "the nonce is empty or contains invalid characters")
        }
        self.init(method: method.rawValue, url: target, accessToken: accessToken, nonce: nonce, date: date)
    }

    /// Returns the value of the header field for a request of another program with `credentials`.
    ///
    /// - Throws: `misconfigured` if the tokens are not bound to a key, or if this program cannot sign with that key.
    func signed(with credentials: Credentials) throws(AuthorityError) -> String {
        guard let key = try credentials.key else { throw .misconfigured("the tokens are not bound to a key") }
        return try signed(with: key)
    }
}
