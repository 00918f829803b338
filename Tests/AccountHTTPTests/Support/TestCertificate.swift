import BoundedWaiting
import Foundation
import NIOSSL

/// A self-signed certificate that is created on demand.
struct TestCertificate {
    let certificate: NIOSSLCertificate
    private let key: NIOSSLPrivateKey

    /// Creates a certificate for `name`, such as `DNS:localhost` or `IP:127.0.0.1`.
    init(for name: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "AccountHTTPTests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (certificateFile, keyFile) = (folder.appending(path: "cert.pem"), folder.appending(path: "key.pem"))
        let openssl = Process()
        openssl.executableURL = URL(filePath: "/usr/bin/env")
        openssl.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-subj", "/CN=test", "-addext", "subjectAltName=\(name)", "-days", "2",
            "-keyout", keyFile.path, "-out", certificateFile.path,
        ]
        openssl.standardError = FileHandle.nullDevice
        try openssl.run()
        try openssl.waitForEnd()
        guard openssl.terminationStatus == 0 else { throw CocoaError(.fileNoSuchFile) }
        certificate = try NIOSSLCertificate.fromPEMFile(certificateFile.path)[0]
        key = try NIOSSLPrivateKey(file: keyFile.path, format: .pem)
    }

    /// The TLS context of a server with this certificate.
    func serverContext() throws -> NIOSSLContext {
        try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(certificate)], privateKey: .privateKey(key)))
    }
}
