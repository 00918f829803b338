/// A certificate that signs itself, made by openssl(1), and its key.
struct Certificate: Sendable {
    let path: String
    let keyPath: String

    /// Options for `auth-server`.
    var serverOptions: [String] { ["--tls-certificate", path, "--tls-key", keyPath] }

    /// Makes a certificate.
    ///
    /// - Parameters:
    ///   - subject: What it is for: `IP:127.0.0.1`, or `DNS:` and a name.
    ///   - days: For how long it is good; a negative number makes one that has expired.
    static func make(for subject: String = "IP:127.0.0.1", days: Int = 7, in container: Container) async throws -> Certificate {
        let name = String(UInt64.random(in: 0 ... .max), radix: 36)
        let certificate = Certificate(path: container.path(name + ".pem"), keyPath: container.path(name + ".key"))
        let request = Command(words: [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
            "/CN=test", "-days", String(days), "-addext", "subjectAltName=" + subject, "-keyout", certificate.keyPath,
            "-out", certificate.path,
        ])
        let outcome = try await request.run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return certificate
    }
}

extension Command {
    /// The same, on a system that trusts a certificate and no other.
    func run(trusting certificate: Certificate) -> Command {
        run(
            inMountsOfItsOwn: """
                mount -t tmpfs none /etc/ssl/certs
                cp '\(certificate.path)' /etc/ssl/certs/ca-certificates.crt
                """)
    }
}
