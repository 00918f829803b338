import Foundation
import Testing

/// The key of a client in PEM files, as OpenSSL writes them.
struct ClientKeyPair: Sendable {
    /// The path of the private key.
    let privateKey: String

    /// The path of the public key.
    let publicKey: String

    /// The options of `openssl genpkey` for each supported kind of key.
    static let kinds: [String: [String]] = [
        "ES256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
        "RS256": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
        "EdDSA": ["-algorithm", "ED25519"],
    ]

    init(_ algorithm: String = "ES256", in container: Container) async throws {
        privateKey = container.path("client-key.pem")
        publicKey = container.path("client-key.pub.pem")
        try await write(try #require(Self.kinds[algorithm]))
    }

    /// Replaces both files with another key.
    func rotate() async throws { try await write(try #require(Self.kinds["ES256"])) }

    private func write(_ options: [String]) async throws {
        for words in [
            ["genpkey"] + options + ["-out", privateKey], ["pkey", "-in", privateKey, "-pubout", "-out", publicKey],
        ] {
            let openssl = try await Command(words: ["openssl"] + words).run()
            try #require(openssl.exitCode == 0, "\(openssl)")
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: privateKey)
    }
}
