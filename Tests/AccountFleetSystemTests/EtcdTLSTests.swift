import AccountKit
import AccountTesting
import BoundedWaiting
import Foundation
import Testing

@testable import AccountFleet

@Suite struct EtcdTLSTests {
    /// Makes a certificate for this machine that is its own authority.
    private func makeCertificate(_ name: String, in folder: TemporaryFolder) throws -> EtcdCredentials {
        let (certificate, key) = ("\(folder.path)/\(name).pem", "\(folder.path)/\(name).key")
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=\(name)", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        try process.waitForEnd()
        try #require(process.terminationStatus == 0, "openssl makes a certificate")
        return EtcdCredentials(certificateAuthorityFile: certificate, certificateFile: certificate, keyFile: key)
    }

    @Test func `Both sides show who they are`() async throws {
        let folder = try TemporaryFolder()
        let own = try makeCertificate("own", in: folder)
        let other = try makeCertificate("other", in: folder)
        let certificate = try #require(own.certificateFile)
        let cluster = try await EtcdCluster(
            scheme: "https",
            arguments: [
                "--cert-file", certificate, "--key-file", try #require(own.keyFile), "--client-cert-auth",
                "--trusted-ca-file", certificate,
            ])
        try await cluster.waitUntilReady(credentials: own)
        try await cluster.storage("tls", credentials: own).write([1])

        var (wrongAuthority, wrongCertificate) = (own, own)
        wrongAuthority.certificateAuthorityFile = other.certificateAuthorityFile
        (wrongCertificate.certificateFile, wrongCertificate.keyFile) = (other.certificateFile, other.keyFile)
        let noCertificate = EtcdCredentials(certificateAuthorityFile: certificate)
        for credentials in [wrongAuthority, wrongCertificate, noCertificate] {
            await expectAccountError(.storeUnreachable, "no connection that both trust") {
                _ = try await cluster.storage("tls", machine: TemporaryFolder(), credentials: credentials)
                    .read(.account)
            }
        }
        let missing = EtcdCredentials(certificateAuthorityFile: folder.path + "/missing")
        await expectAccountError(.misconfigured, "a file that is not there") {
            _ = try await cluster.storage("tls", machine: TemporaryFolder(), credentials: missing).read(.account)
        }
    }
}
