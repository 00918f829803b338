#if Signatures
import AccountKit
import AccountSupport
import AccountTesting
import Crypto
import CryptoExtras
import FoundationEssentials
import Testing

@testable import AccountHTTP

/// Assertions of a client with a private key (RFC 7523, section 3).
struct ClientKeyTests {
    private static let date = FixedClock().now

    private func claims(_ assertion: Secret) throws -> (header: JSONObject, claims: JSONObject) {
        let parts = assertion.reveal().split(separator: ".")
        return (try object(parts[0]), try object(parts[1]))
    }

    private func object(_ part: Substring) throws -> JSONObject {
        let bytes = try #require(Base64URL.decode(part.utf8))
        return try #require(JSONValue.object(from: bytes))
    }

    private func assertion(_ key: ClientKey) async throws -> Secret {
        try await key.assertion(for: "nightly", audience: "https://login.example.com", at: Self.date)
    }

    private func failure(_ text: String) async -> String {
        switch await asyncFailure({ try await assertion(.text(Secret(text))) }) {
        case .misconfigured(let text)?: text
        default: ""
        }
    }

    private static func pem(_ label: String, _ der: some Sequence<UInt8>) -> String {
        "-----BEGIN \(label)-----\n\(Data(der).base64EncodedString())\n-----END \(label)-----\n"
    }

    private static func pem(_ key: Curve25519.Signing.PrivateKey) -> String {
        let prefix: [UInt8] = [0x30, 0x2E, 2, 1, 0, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20]
        return pem("PRIVATE KEY", prefix + key.rawRepresentation)
    }

    /// Expects an assertion of 60 seconds for the issuer, and returns what was signed.
    private func expectAssertion(
        _ key: ClientKey, algorithm: String
    ) async throws -> (message: Data, signature: Data) {
        let assertion = try await assertion(key)
        let (header, claims) = try claims(assertion)
        #expect(header == ["alg": .string(algorithm), "typ": .string("JWT")])
        let now = Int64(Self.date.timeIntervalSince1970)
        #expect(claims["iss"] == .string("nightly") && claims["sub"] == .string("nightly"))
        #expect(claims["aud"] == .string("https://login.example.com"))
        #expect(claims["iat"] == .integer(now) && claims["exp"] == .integer(now + 60))
        let parts = assertion.reveal().split(separator: ".")
        return (Data("\(parts[0]).\(parts[1])".utf8), try #require(Base64URL.decode(parts[2].utf8)))
    }

    @Test func `Signs with a P-256 key in PKCS 8, SEC 1 and JSON`() async throws {
        let key = P256.Signing.PrivateKey()
        let point = key.publicKey.rawRepresentation
        let (d, x, y) = (key.rawRepresentation, point.prefix(32), point.suffix(32))
        let object =
            #"{"kty":"EC","crv":"P-256","d":"\#(Base64URL.encode(d))","x":"\#(Base64URL.encode(x))","#
            + #""y":"\#(Base64URL.encode(y))"}"#
        let sec1 = Self.pem(
            "EC PRIVATE KEY",
            [0x30, 0x31, 2, 1, 1, 4, 32] + d + [0xA0, 0x0A, 6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7])
        let parameters = Self.pem("EC PARAMETERS", [6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7])
        let windows = key.pemRepresentation.replacing("\n", with: "\r\n")
        for text in [key.pemRepresentation, windows, sec1, parameters + sec1, object] {
            let (message, signature) = try await expectAssertion(.text(Secret(text)), algorithm: "ES256")
            let read = try P256.Signing.ECDSASignature(rawRepresentation: signature)
            #expect(key.publicKey.isValidSignature(read, for: message))
        }
    }

    @Test func `Signs with an RSA key in PKCS 8 and PKCS 1`() async throws {
        let key = try _RSA.Signing.PrivateKey(pemRepresentation: Self.rsaKey)
        for text in [key.pkcs8PEMRepresentation, key.pemRepresentation] {
            let (message, signature) = try await expectAssertion(.text(Secret(text)), algorithm: "RS256")
            let read = _RSA.Signing.RSASignature(rawRepresentation: signature)
            #expect(key.publicKey.isValidSignature(read, for: message, padding: .insecurePKCS1v1_5))
        }
    }

    @Test func `Signs with an Ed25519 key in PKCS 8 and JSON`() async throws {
        let key = Curve25519.Signing.PrivateKey()
        let object =
            #"{"kty":"OKP","crv":"Ed25519","d":"\#(Base64URL.encode(key.rawRepresentation))","#
            + #""x":"\#(Base64URL.encode(key.publicKey.rawRepresentation))"}"#
        for text in [Self.pem(key), object] {
            let (message, signature) = try await expectAssertion(.text(Secret(text)), algorithm: "EdDSA")
            #expect(key.publicKey.isValidSignature(signature, for: message))
        }
    }

    @Test func `Each assertion has another jti`() async throws {
        let key = ClientKey.text(Secret(P256.Signing.PrivateKey().pemRepresentation))
        let ids = try await [assertion(key), assertion(key)].map { try claims($0).claims["jti"] }
        #expect(ids[0] != nil && ids[0] != ids[1])
    }

    @Test func `Names the key and the audience in the options`() async throws {
        let pem = Secret(P256.Signing.PrivateKey().pemRepresentation)
        let read = try claims(try await assertion(.text(pem, id: "2026", audience: "https://login.example.com/token")))
        #expect(
            read.header["kid"] == .string("2026") && read.claims["aud"] == .string("https://login.example.com/token"))
        let ed = Curve25519.Signing.PrivateKey()
        let object =
            #"{"kty":"OKP","crv":"Ed25519","kid":"own","d":"\#(Base64URL.encode(ed.rawRepresentation))","#
            + #""x":"\#(Base64URL.encode(ed.publicKey.rawRepresentation))"}"#
        #expect(try claims(try await assertion(.text(Secret(object)))).header["kid"] == .string("own"))
    }

    @Test func `Says what to use instead of an unusable key`() async throws {
        let key = P256.Signing.PrivateKey()
        #expect(await failure(key.publicKey.pemRepresentation).contains("only a public key"))
        #expect(await failure(Self.pem("CERTIFICATE", [1])).contains("certificate"))
        #expect(await failure(Self.pem("ENCRYPTED PRIVATE KEY", [1])).contains("openssl pkey"))
        #expect(await failure(P384.Signing.PrivateKey().pemRepresentation).contains("P-256"))
        #expect(await failure("").contains("no supported private key"))
        #expect(await failure(Self.pem("PRIVATE KEY", [1, 2])).contains("no supported private key"))
        #expect(await failure("{").contains("not valid JSON"))
        #expect(await failure(#"{"keys":[]}"#).contains("a set of keys"))
        #expect(await failure(#"{"kty":"EC","crv":"P-256","x":"AA"}"#).contains("no private key"))
        let (own, other) = (Curve25519.Signing.PrivateKey(), Curve25519.Signing.PrivateKey())
        let mixed =
            #"{"kty":"OKP","crv":"Ed25519","d":"\#(Base64URL.encode(own.rawRepresentation))","#
            + #""x":"\#(Base64URL.encode(other.publicKey.rawRepresentation))"}"#
        let text = await failure(mixed)
        #expect(text.contains("another private key"))
        #expect(!text.contains(Base64URL.encode(own.rawRepresentation)))
    }

    @Test func `Hides the key in a description`() {
        let pem = P256.Signing.PrivateKey().pemRepresentation
        #expect(!"\(ClientKey.text(Secret(pem)))".contains("BEGIN"))
    }

    /// A key only for these tests, because creating an RSA key takes seconds in a debug build.
    private static let rsaKey = """
        -----BEGIN PRIVATE KEY-----
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDJu/QKLSb9/WCK
        khs9kss6PTL+IUcYS7EZxQOs2t30VouWYw3RKbM146anhiib2dJTY6ZP6kw9YYhJ
        vTI8qgG5T27O0AsyPdZakpZXDmS8zcvKhZCJ5mjH6qegV5SBNMRz/Jcy6mCQCwYp
        cltJ/BHZr2ucTl0siF6g7pjCZVr4EoKxLZIIgBpO2NjCW9eZ/rebWo0eRjpHYOBq
        gsKusNGlZZ/nJfvUatJC/bO65uQ6aAy7aOQRBGQcHAxw2RRykIK3ISNpwd4zsPty
        eGTtEi/2Cs6qUmfDgIp4280p3090b9C1w43PFkNQF+jeKyfyRHZEsOouscNGT/7u
        t05LKLABAgMBAAECggEAAw5+/xx6B8UsDk1ybjdoLuS4fhNBAYQ8FbjfemIClO4u
        xUOQ9QdduMZPQyCMQvhE8JCE95cEOrXcm8lrFnI4/nbOpgGO+d7n/Y1VC9KjAh1Y
        JiRp8Tz1f3n1uj85d8+13lAIdnQIrIYOPNiHu5I/Lv4ycjbZwI/8ZxHWbLOecj3G
        qiA7c4VHa0pXwFgRvcFHsmIP3qvGsxguaQUWhnKJJgiPQGDaQh+3HZ8FqBiS+h8U
        hztHE2JXcR0gJtVlgxpBil3YisRD3fPVz1pfoJCPkqNowRwkSBFgsbRqUCD+6H/r
        v9VyjMFu5Z38Wsf2E6L9iwk1ulqAaLXvP6AiKv3Z1QKBgQDufYvPayJIbokws935
        8VEdw90PhxLbWoRCHgdNRvUOzfWoI7K2g9iJiCGoAdSCEgyhE9eLvRGn8V5SvvmR
        GV6hnu4Tm93S13VJzuS8gsGmHEYGJLhDI5BKcfHcb33xYsoiSmlsTWg0qMhiK0U4
        160DE9cbnvzkxweOV9uA+hJACwKBgQDYi5HipW2Puz+pbSb2thQXOL6mZIEh2+Cc
        9TdB9syfYCYpiSjb4PLmKWwWQzITFxHHWkbCoXCWqvtFsXlVVJ030G4fX1eiorDM
        ZvIE+6r+EbeItdagUSNbVUIa3iK2HELgwSZ4l5kBwBcTATB56Atqay2nfNPd7Ubn
        SvcuvBJbowKBgQCetHVBhm29/bDV9BwXo/ry79A/8QcfadDxnsIFLt8NBwoe5gKb
        aonCnBCpmO4t0I0O9AFQQHVraTf3oJa7dEKBEx4jdmnbUP4AK+oTeIAdZltC41Sr
        eRMgN0tYAemxpKgWwaX+KFTcFiWjDmB2PzAnCCDxhI+OPtRMaTLtVXynmQKBgA2w
        bQ2F5bIzZSfhxZfNFOIO7UZ5jgxE6SMjAVZDMtZUbrUrfZDA3LoeHj4eC1lXmQEg
        PN7q88IilvXl7USur62qmHuVPGYEoOabD2uvOTUMi6yxyhqiZnjMn/ww1MLscHHi
        4/q1oq+QpCTIa3cZazdUBTPUWVRrPpM6kvu6WfK/AoGBAI4xecT5qihhktjPaXnD
        sQzA6Ij40Mk3VRLnkX1PmaxYHq5gCbNVoU8xDuV5UqBl/m1P6r8RTK30inxGu3Pt
        uAHb7rAeiu+4KMLMh47FL/+6ExXk8/vNLbOhikcnBntqpJRk7K9qlrBIPjaD5FW2
        D6UzvU6/iL/XlGHtUHyRbtHx
        -----END PRIVATE KEY-----
        """
}
#endif
