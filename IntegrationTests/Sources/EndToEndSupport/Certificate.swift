/// A self-signed certificate and its key, made by openssl(1).
struct Certificate: Sendable {
    let path: String
    let keyPath: String

    /// Options for `auth-server`.
    var serverOptions: [String] { ["--tls-certificate", path, "--tls-key", keyPath] }

    /// Makes a certificate.
    ///
    /// - Parameters:
    ///   - subject: The subject: `IP:127.0.0.1`, or `DNS:` and a name.
    ///   - days: The number of days until it expires. With -1, the certificate has already expired.
    static func make(
        for subject: String = "IP:127.0.0.1", days: Int = 7, in container: Container
    ) async throws -> Certificate {
        let base = container.path(String(UInt64.random(in: 0 ... .max), radix: 36))
        let certificate = Certificate(path: base + ".pem", keyPath: base + ".key")
        let request = [
            "openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
            "/CN=test",
            "-addext", "subjectAltName=" + subject, "-keyout", certificate.keyPath, "-out", base + ".csr",
        ]
        let signature = [
            "openssl", "x509", "-req", "-in", base + ".csr", "-signkey", certificate.keyPath, "-days", String(days),
            "-copy_extensions", "copy", "-out", certificate.path,
        ]
        for words in [request, signature] {
            let outcome = try await Command(words: words).run()
            guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        }
        return certificate
    }
}

extension Command {
    /// Returns this command, run on a system that trusts only this certificate.
    func run(trusting certificate: Certificate) -> Command {
        run(
            inMountsOfItsOwn: """
                mount -t tmpfs none /etc/ssl/certs
                cp '\(certificate.path)' /etc/ssl/certs/ca-certificates.crt
                """)
    }
}
