@testable import EndToEndSupport
import Foundation

/// idpyoidc on loopback, which supports token exchange: an authorization server that is not part of this project; see
/// `Fixtures/idpyoidc/server.py`.
struct IdPyOIDCServer: Sendable {
    /// A request to the token endpoint.
    struct Request: Decodable, Equatable, Sendable {
        var grantType: String
        var audience: String?
        var resource: String?
        var scope: String?
        var status = "200"

        enum CodingKeys: String, CodingKey {
            case grantType = "grant_type"
            case audience, resource, scope, status
        }
    }

    static let password = "correct horse battery staple"

    /// The secret of the client `account-cli-secret`.
    static let secret = "s3cret-of-the-tests"

    /// The only audience and resource that the server exchanges tokens for.
    static let target = "https://api.example/"

    let issuer: String

    /// The redirect URI, which the server compares exactly.
    let redirectURI: String

    /// Prepares the server's Python environment, which takes a while the first time, and serves during the test.
    ///
    /// - Parameters:
    ///   - container: The folder of the server's data.
    ///   - publicKey: The path of the public key of the client `account-cli-key`.
    ///   - test: Receives the server.
    static func run<Result: Sendable>(
        in container: Container, publicKey: String, _ test: (IdPyOIDCServer) async throws -> Result
    ) async throws -> Result {
        let python = try await PythonEnvironment.prepare("idpyoidc", importing: "idpyoidc", in: container)
        let redirectURI = "http://127.0.0.1:\(try FreePort.find())/callback"
        let words = [python, "-B", BuiltProducts.fixture("idpyoidc/server.py")]
        let options = [
            "--folder", container.path("idpyoidc"), "--redirect-uri", redirectURI, "--public-key", publicKey,
        ]
        return try await ServerProcess.run(Command(words: words + options)) {
            try await test(IdPyOIDCServer(issuer: $0, redirectURI: redirectURI))
        }
    }

    /// The requests to the token endpoint, without the first `count`.
    func log(after count: Int = 0) async throws -> [Request] {
        let response = try await HTTP.get(issuer + "/control/log")
        return Array(try JSONDecoder().decode([Request].self, from: Data(response.text.utf8)).dropFirst(count))
    }

    /// Whether an access token is valid.
    func accepts(_ token: String) async throws -> Bool {
        try await HTTP.get(issuer + "/userinfo", bearer: token).status == 200
    }

    /// Enters alice's password on the page that the command opens, and follows the redirect.
    func signIn(at page: String) async throws {
        let form = try await HTTP.get(page).text
        guard let token = form.firstMatch(of: /name="token" value="([^"]+)"/)?.output.1 else { throw Unexpected(form) }
        let password = Self.password.replacing(" ", with: "+")
        _ = try await HTTP.postForm(issuer + "/verify", "token=\(token)&username=alice&password=\(password)")
    }
}
