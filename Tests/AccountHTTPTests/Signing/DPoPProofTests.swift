#if Signatures
import AccountKit
import AccountSupport
import Crypto
import FoundationEssentials
import Testing

@testable import AccountHTTP

struct DPoPProofTests {
    private let key: ProofKey

    init() throws { key = try ProofKey.random() }

    private func proof(_ url: String = "https://api.example.com/notes", token: Secret? = nil) throws -> DPoPProof {
        DPoPProof(method: "GET", url: try ServiceURL(url), accessToken: token, date: FixedClock().now)
    }

    @Test func `Signs the claims with the key in the header`() throws {
        var proof = try proof(token: Secret("access"))
        proof.nonce = "n-1"
        let read = try ReadProof(proof.signed(with: key))
        #expect(read.header.keys.sorted() == ["alg", "jwk", "typ"])
        #expect(read.header["typ"]?.string == "dpop+jwt" && read.header["alg"]?.string == "ES256")
        #expect(read.claims["htm"]?.string == "GET")
        #expect(read.claims["htu"]?.string == "https://api.example.com/notes")
        #expect(read.claims["iat"]?.number == 1_800_000_000)
        #expect(read.claims["ath"]?.string == Base64URL.encode(SHA256.hash(data: Data("access".utf8))))
        #expect(read.claims["nonce"]?.string == "n-1")
        #expect(read.claims["jti"]?.string == proof.id)
    }

    @Test func `Omits the token and the nonce if there are none`() throws {
        let read = try ReadProof(proof().signed(with: key))
        #expect(read.claims.keys.sorted() == ["htm", "htu", "iat", "jti"])
    }

    @Test func `Contains only the public key`() throws {
        let text = try proof().signed(with: key)
        let read = try ReadProof(text)
        #expect(read.publicKey.keys.sorted() == ["crv", "kty", "x", "y"])
        let secret = key.secret.withUnsafeBytes { Base64URL.encode($0) }
        #expect(!text.contains(secret) && !"\(read.header) \(read.claims)".contains(secret))
    }

    @Test(arguments: [
        ("https://api.example.com", "https://api.example.com/"),
        ("https://API.example.com:443/a", "https://api.example.com/a"),
        ("https://api.example.com/a?b=c&d=https://x", "https://api.example.com/a"),
        ("https://api.example.com:8443/a%2Fb/", "https://api.example.com:8443/a%2Fb/"),
        ("http://127.0.0.1:80/a?", "http://127.0.0.1/a"), ("http://[::1]:8080/?x", "http://[::1]:8080/"),
    ])
    func `Names the URL without default port and query`(url: String, target: String) throws {
        #expect(try ReadProof(proof(url).signed(with: key)).claims["htu"]?.string == target)
    }

    @Test func `Has a new identifier each time`() throws {
        let ids = try (1...20).map { _ in try ReadProof(proof().signed(with: key)).claims["jti"]?.string }
        #expect(Set(ids).count == 20)
    }

    @Test(
        arguments: [
            ("get x", "https://api.example.com", nil), ("GET", "api.example.com", nil),
            ("GET", "http://api.example.com", nil),
            ("GET", "https://user@api.example.com", nil), ("GET", "https://api.example.com/#a", nil),
            ("GET", "https://api.example.com", ""), ("GET", "https://api.example.com", "a b"),
            ("GET", "https://api.example.com", "a\"b"),
            ("GET", "https://api.example.com", String(repeating: "a", count: 1025)),
        ] as [(String, String, String?)])
    func `Refuses requests that cannot contain a token`(method: String, url: String, nonce: String?) {
        #expect(throws: AccountError.self) {
            try DPoPProof(method: method, url: url, accessToken: Secret("a"), nonce: nonce, date: FixedClock().now)
        }
    }

    @Test func `Refuses a key that is not valid`() {
        for bytes in [[], [1], [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32)] {
            #expect(throws: AuthorityError.self) { try ProofKey(Secret(bytes: bytes)) }
        }
    }

    @Test func `Shows no part of the key in a description`() throws {
        let secret = key.secret.reveal()
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!dumped.contains(secret) && !"\(key)".contains(secret))
    }
}

/// A proof whose signature is valid.
struct ReadProof {
    let header: JSONObject
    let publicKey: JSONObject
    let claims: JSONObject

    /// Reads a proof, and checks its signature with the key in the header.
    init(_ text: String) throws {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        let bytes = try parts.map { try #require(Base64URL.decode($0.utf8)) }
        header = try #require(JSONValue.object(from: bytes[0]))
        claims = try #require(JSONValue.object(from: bytes[1]))
        guard case .object(let jwk)? = header["jwk"] else { throw Malformed() }
        publicKey = jwk
        let point = ["x", "y"].compactMap { jwk[$0]?.string.flatMap { Base64URL.decode($0.utf8) } }
        let key = try P256.Signing.PublicKey(rawRepresentation: Data(point.joined()))
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: bytes[2])
        try #require(key.isValidSignature(signature, for: Data(text[..<parts[1].endIndex].utf8)))
    }

    struct Malformed: Error {}
}
#endif
