import AccountKit
import AccountTesting
import BoundedWaiting
import Foundation
import Testing

@testable import AccountFleet

@Suite struct EtcdTLSTests {
    /// Makes a self-signed certificate.
    private func makeCertificate(
        _ name: String, for subject: String = "IP:127.0.0.1", in folder: TemporaryFolder
    ) throws -> EtcdCredentials {
        let (certificate, key) = ("\(folder.path)/\(name).pem", "\(folder.path)/\(name).key")
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=\(name)", "-addext", "subjectAltName=\(subject)", "-keyout", key, "-out", certificate,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        try process.waitForEnd()
        try #require(process.terminationStatus == 0, "openssl creates a certificate")
        return EtcdCredentials(certificateAuthorityFile: certificate, certificateFile: certificate, keyFile: key)
    }

    @Test func `Authenticates the client and the etcd server to each other with TLS`() async throws {
        let folder = try TemporaryFolder()
        let own = try makeCertificate("own", in: folder)
        let other = try makeCertificate("other", in: folder)
        let certificate = try #require(own.files.certificate)
        let cluster = try await EtcdCluster(
            scheme: "https",
            arguments: [
                "--cert-file", certificate, "--key-file", try #require(own.files.key), "--client-cert-auth",
                "--trusted-ca-file", certificate,
            ])
        try await cluster.waitUntilReady(credentials: own)
        try await cluster.storage("tls", credentials: own).write([1])

        var (wrongAuthority, wrongCertificate) = (own, own)
        wrongAuthority.files.authority = other.files.authority
        (wrongCertificate.files.certificate, wrongCertificate.files.key) = (other.files.certificate, other.files.key)
        let noCertificate = EtcdCredentials(certificateAuthorityFile: certificate)
        for credentials in [wrongAuthority, wrongCertificate, noCertificate] {
            await expectAccountError(.storeUnreachable, "no mutually trusted connection") {
                _ = try await cluster.storage("tls", machine: TemporaryFolder(), credentials: credentials)
                    .read(.account)
            }
        }
        let missing = EtcdCredentials(certificateAuthorityFile: folder.path + "/missing")
        await expectAccountError(.misconfigured, "a missing file") {
            _ = try await cluster.storage("tls", machine: TemporaryFolder(), credentials: missing).read(.account)
        }
    }

    @Test func `Rejects an etcd certificate that does not name the node's host`() async throws {
        let folder = try TemporaryFolder()
        let credentials = try makeCertificate("own", for: "DNS:localhost", in: folder)
        let cluster = try await EtcdCluster(
            scheme: "https",
            arguments: [
                "--cert-file", try #require(credentials.files.certificate),
                "--key-file", try #require(credentials.files.key),
            ])
        let port = try #require(cluster.nodes[0].endpoint.split(separator: ":").last)
        let named = try EtcdLocation("etcds://localhost:\(port)/tls")
        try await cluster.waitUntilReady(at: named, credentials: credentials)
        await expectAccountError(.storeUnreachable, "a certificate for another host") {
            _ = try await cluster.storage("tls", credentials: credentials).read(.account)
        }
    }

    @Test func `Rejects an etcd certificate for the node's address in place of its name`() async throws {
        let folder = try TemporaryFolder()
        let credentials = try makeCertificate("localhost", for: "IP:127.0.0.1", in: folder)
        let cluster = try await EtcdCluster(
            scheme: "https",
            arguments: [
                "--cert-file", try #require(credentials.files.certificate),
                "--key-file", try #require(credentials.files.key),
            ])
        try await cluster.waitUntilReady(credentials: credentials)
        let port = try #require(cluster.nodes[0].endpoint.split(separator: ":").last)
        let storage = try EtcdArchiveStorage(
            location: EtcdLocation("etcds://localhost:\(port)/tls"), credentials: credentials,
            container: folder.container())
        await expectAccountError(.storeUnreachable, "a certificate for an address") {
            _ = try await storage.read(.account)
        }
    }
}
