import HummingbirdTLS

/// The certificate and key that authenticate the server.
enum TLSIdentity {
    /// The reason why the server cannot use the given files for TLS.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads a certificate chain and its key.
    ///
    /// - Parameters:
    ///   - certificatePath: A PEM file that starts with the server's own certificate.
    ///   - keyPath: A PEM file with the private key, without a passphrase.
    /// - Throws: `Failure`, which names the file.
    static func configuration(certificatePath: String, keyPath: String) throws -> TLSConfiguration {
        let certificates: [NIOSSLCertificate]
        do {
            certificates = try NIOSSLCertificate.fromPEMFile(certificatePath)
        } catch {
            throw Failure(description: "cannot read a certificate from \(certificatePath): \(error)")
        }
        let key: NIOSSLPrivateKey
        do {
            key = try NIOSSLPrivateKey(file: keyPath, format: .pem)
        } catch {
            throw Failure(description: "cannot read a private key from \(keyPath): \(error)")
        }
        return TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
    }
}
