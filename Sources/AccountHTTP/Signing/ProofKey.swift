import AccountCrypto
import AccountKit

#if Signatures
import Crypto
import AccountSupport
#endif

/// The private key that the tokens of a session are bound to (RFC 9449): a key on the curve P-256, for ES256.
struct ProofKey: Sendable, Equatable {
    /// The 32 bytes of the private key (SEC 1, section 2.3.7).
    let secret: Secret

    /// The stored nonce of the authorization server, for a process that has none.
    var nonce: String?

    /// Uses the key of a session.
    ///
    /// - Throws: `misconfigured` if this program cannot sign with the key. The caller must then send no request: without a
    ///   proof, the service accepts no token of the session.
    init(_ secret: Secret) throws(AuthorityError) {
        #if Signatures
        self.secret = secret
        _ = try signingKey()
        #else
        throw Self.unsupported
        #endif
    }

    /// Creates a key for a new session, in guarded memory.
    ///
    /// - Throws: `misconfigured` if this program was built without the trait `Signatures`.
    static func random() throws(AuthorityError) -> ProofKey {
        #if Signatures
        while true {
            let bytes = GuardedBytes.random(count: 32)
            // Of all numbers with 32 bytes, one in 2³² is not a valid key.
            if let key = try? ProofKey(Secret(bytes, range: 0..<32)) { return key }
        }
        #else
        throw unsupported
        #endif
    }

    static let unsupported = AuthorityError.misconfigured(
        "this program was built without the package trait Signatures, which tokens that are bound to a key require")

    #if Signatures
    /// Returns the key for one signature. The library zeroes its copy of the key when it releases the copy.
    func signingKey() throws(AuthorityError) -> SigningKey {
        do {
            return .p256(try secret.withUnsafeBytes { try P256.Signing.PrivateKey(rawRepresentation: $0) })
        } catch {
            throw .misconfigured("the key of this session is not valid")
        }
    }
    #endif
}

extension Credentials {
    /// The key of the session; `nil` if the tokens are not bound to a key.
    ///
    /// - Throws: The error of ``ProofKey/init(_:)``.
    var key: ProofKey? {
        get throws(AuthorityError) {
            guard let proofKey else {
                if requiresProof { throw .misconfigured("the tokens are bound to a key that is not stored with them") }
                return nil
            }
            var key = try ProofKey(proofKey)
            key.nonce = proofNonce
            return key
        }
    }
}
