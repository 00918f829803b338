import Foundation
import HummingbirdTesting
import Subprocess
import Testing

@testable import auth_server

@Suite("TLS")
struct TLSIdentityTests {
    @Test("With a certificate, the server uses TLS and an https issuer")
    func speaksTLS() async throws {
        try await withTemporaryDirectory { directory in
            let (certificate, key) = (directory + "/certificate.pem", directory + "/key.pem")
            let made = try await Subprocess.run(
                .name("openssl"),
                arguments: [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-subj", "/CN=localhost", "-days", "2", "-out", certificate, "-keyout", key,
                ],
                output: .discarded
            )
            try #require(made.terminationStatus == .exited(0))

            var settings = ServerSettings()
            settings.usesTLS = true
            var test = try TestServer(settings: settings)
            test.tls = try TLSIdentity.configuration(certificatePath: certificate, keyPath: key)
            try await test.listen(.https) { api, port in
                let response = try await api.get("/.well-known/openid-configuration")
                #expect(response.json["issuer"] == .string("https://localhost:\(port)"))
                #expect(response.json["token_endpoint"] == .string("https://localhost:\(port)/oauth/token"))
            }
        }
    }

    @Test("The error for an invalid certificate file names the file")
    func namesTheFile() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/empty.pem"
            try Data().write(to: URL(filePath: path))
            let error = try #require(throws: TLSIdentity.Failure.self) {
                try TLSIdentity.configuration(certificatePath: path, keyPath: path)
            }
            #expect(error.description.contains(path))
        }
    }
}
