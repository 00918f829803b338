#if Signatures
public import AccountKit
import AccountSupport

/// The private key with which a client authenticates, instead of with a secret (`private_key_jwt`, OpenID Connect Core,
/// section 9; RFC 7523, section 2.2).
///
/// ```swift
/// let authority = try OAuthAuthority(
///     issuer: "https://login.example.com", machine: .client("nightly", key: .file("/etc/nightly/key.pem")))
/// ```
///
/// The key is a P-256, Ed25519 or RSA key (at least 2048 bits), as PEM (PKCS #8, RFC 5958; SEC 1, RFC 5915; PKCS #1, RFC
/// 8017) or as JSON Web Key (RFC 7517). It must not be encrypted.
///
/// Each request contains a new assertion, which is valid for 60 seconds.
public struct ClientKey: Sendable {
    private enum Source {
        case file(ClientKeyFile)
        case text(Secret)
    }

    private let id: String?
    private let audience: String?
    private let source: Source

    private init(_ source: Source, id: String?, audience: String?) {
        self.source = source
        self.id = id
        self.audience = audience
    }

    /// Returns the key in a file that only this user can read. AccountKit reads the file for each request, so a new key in
    /// the file takes effect at once. The archive contains the path, never the key.
    ///
    /// - Parameters:
    ///   - path: The absolute path of the file.
    ///   - id: The key ID in the assertions (RFC 7515, section 4.1.4). If it is `nil`, the assertions contain the ID in a
    ///     JSON Web Key, if any.
    ///   - audience: The audience of the assertions. If it is `nil`, the audience is the issuer.
    public static func file(_ path: String, id: String? = nil, audience: String? = nil) -> ClientKey {
        ClientKey(.file(ClientKeyFile(path: path, id: id, audience: audience)), id: id, audience: audience)
    }

    /// Returns a key from its text, such as a PEM file. For the other parameters, see ``file(_:id:audience:)``.
    public static func text(_ text: Secret, id: String? = nil, audience: String? = nil) -> ClientKey {
        ClientKey(.text(text), id: id, audience: audience)
    }
}

extension ClientKey: ClientAssertion {
    /// The lifetime of an assertion, in seconds.
    private static var lifetime: Int { 60 }

    var keyFile: ClientKeyFile? {
        if case .file(let file) = source { file } else { nil }
    }

    func assertion(for client: String, audience issuer: String, at date: Date) async throws(AuthorityError) -> Secret {
        let now = Int(date.timeIntervalSince1970)
        do {
            let key = try signingKey()
            var header = [("typ", JSONText(string: "JWT"))]
            if let id = id ?? key.id { header.append(("kid", JSONText(string: id))) }
            let claims = [
                ("iss", JSONText(string: client)), ("sub", JSONText(string: client)),
                ("aud", JSONText(string: audience ?? issuer)), ("jti", JSONText(string: Base64URL.random())),
                ("iat", JSONText(integer: now)), ("exp", JSONText(integer: now + Self.lifetime)),
            ]
            return Secret(try key.key.token(header: header, claims: claims))
        } catch let error as AccountError {
            throw .misconfigured(error.hint.map { "\(error.message): \($0)" } ?? error.message)
        } catch {
            throw .misconfigured("the client key cannot sign: \(error.userText)")
        }
    }

    private func signingKey() throws -> (key: SigningKey, id: String?) {
        switch source {
        case .file(let file): try SigningKey.read(file.read(), at: file.path)
        case .text(let text): try SigningKey.read(text, at: "the client key")
        }
    }
}
#endif
