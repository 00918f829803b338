#if Signatures
import AccountKit
import AccountSupport
import Crypto
import CryptoExtras

extension SigningKey {
    /// Reads a private key in PEM or as JSON Web Key.
    ///
    /// - Parameters:
    ///   - text: The key.
    ///   - place: The name of the file, for errors.
    /// - Returns: The key, and the `kid` of a JSON Web Key.
    /// - Throws: `misconfigured` with advice. The error contains no part of the key.
    static func read(_ text: Secret, at place: String) throws(AccountError) -> (key: SigningKey, id: String?) {
        let text = text.trimmed
        let isObject = text.withUnsafeBytes { $0.first == UInt8(ascii: "{") }
        if isObject { return try readObject(text, at: place) }
        return (try readPEM(text.reveal(), at: place), nil)
    }

    private static func unusable(_ place: String, _ problem: String, _ hint: String) -> AccountError {
        AccountError(.misconfigured, "\(place) \(problem)", hint: hint)
    }

    private static func unsupported(_ place: String) -> AccountError {
        unusable(
            place, "contains no supported private key",
            "use an unencrypted P-256, Ed25519 or RSA key (at least 2048 bits), in PEM or as JSON Web Key")
    }

    // MARK: - PEM

    private static func readPEM(_ text: String, at place: String) throws(AccountError) -> SigningKey {
        let (begin, end) = ("-----BEGIN ", "-----END ")
        let lines = text.split(whereSeparator: \.isNewline).map { String($0).trimmed }
        let labels = lines.filter { $0.hasPrefix(begin) }.map { $0.dropFirst(begin.count).prefix { $0 != "-" } }
        // `openssl ecparam` writes the parameters of the curve before the key.
        guard let label = labels.first(where: { $0.hasSuffix("PRIVATE KEY") }) else {
            guard labels.isEmpty else {
                throw unusable(
                    place, "contains only a public key or a certificate", "use the file with the private key")
            }
            throw unsupported(place)
        }
        guard label != "ENCRYPTED PRIVATE KEY", !lines.contains("Proc-Type: 4,ENCRYPTED") else {
            throw unusable(
                place, "is encrypted",
                "decrypt it to a file that only you can read: `(umask 077; openssl pkey -in FILE -out NEW)`")
        }
        let base64 = lines.drop { !$0.hasPrefix(begin + label) }.dropFirst().prefix { !$0.hasPrefix(end) }
        guard let der = Data(base64Encoded: base64.joined().filter { !$0.isWhitespace }) else {
            throw unsupported(place)
        }
        // Try each kind of key. Drop the errors, which may quote the key: `unsupported` says which kinds work.
        if let key = try? P256.Signing.PrivateKey(derRepresentation: der) { return .p256(key) }
        if let key = ed25519(fromDER: der) { return .ed25519(key) }
        if let key = try? _RSA.Signing.PrivateKey(derRepresentation: der) { return .rsa(key) }
        throw unsupported(place)
    }

    /// A PKCS #8 key of the curve Ed25519 consists of these bytes and the key (RFC 8410, section 7).
    private static let ed25519Prefix: [UInt8] = [
        0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
    ]

    private static func ed25519(fromDER bytes: Data) -> Curve25519.Signing.PrivateKey? {
        guard bytes.count == ed25519Prefix.count + 32, bytes.starts(with: ed25519Prefix) else { return nil }
        return try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes.suffix(32))
    }

    // MARK: - JSON Web Keys

    private static func readObject(
        _ text: Secret, at place: String
    ) throws(AccountError) -> (key: SigningKey, id: String?) {
        guard let members = text.withUnsafeBytes({ JSONValue.object(from: $0) }) else {
            throw unusable(place, "is not valid JSON", "use a file with one JSON Web Key")
        }
        guard members["keys"] == nil else {
            throw unusable(place, "contains a set of keys", "use a file with one JSON Web Key")
        }
        func bytes(_ name: String) -> Data? { members[name]?.string.flatMap { Base64URL.decode($0.utf8) } }
        guard let secret = bytes("d") else {
            throw unusable(place, "contains no private key (d)", "use the file with the private key")
        }
        let key: SigningKey? =
            switch (members["kty"]?.string, members["crv"]?.string) {
            case ("EC", "P-256"): (try? P256.Signing.PrivateKey(rawRepresentation: secret)).map { .p256($0) }
            case ("OKP", "Ed25519"):
                (try? Curve25519.Signing.PrivateKey(rawRepresentation: secret)).map { .ed25519($0) }
            case ("RSA", _): rsa(bytes, secret).map { .rsa($0) }
            default: nil
            }
        guard let key, let own = try? key.publicKey else { throw unsupported(place) }
        guard own.allSatisfy({ members[$0.name]?.string == $0.value }) else {
            throw unusable(place, "contains a public key of another private key", "create the file again")
        }
        return (key, members["kid"]?.string)
    }

    private static func rsa(_ bytes: (String) -> Data?, _ exponent: Data) -> _RSA.Signing.PrivateKey? {
        guard let n = bytes("n"), n.count >= 256, let e = bytes("e"), let p = bytes("p"), let q = bytes("q") else {
            return nil
        }
        return try? _RSA.Signing.PrivateKey(n: n, e: e, d: exponent, p: p, q: q)
    }
}
#endif
