@testable import EndToEndSupport
import Foundation

/// nanoidp on loopback: an authorization server that is not part of this project; see `Fixtures/nanoidp/server.py`.
struct NanoIDPServer: Sendable {
    static let password = "correct horse battery staple"
    static let secret = "s3cret-of-the-tests"

    /// The folder of the server's data.
    private let folder: String
    private let python: String

    /// Prepares the server's Python environment, which takes a while the first time.
    init(in container: Container) async throws {
        python = try await PythonEnvironment.prepare("nanoidp", importing: "nanoidp", in: container)
        folder = container.path("nanoidp")
    }

    /// Serves during the test.
    ///
    /// - Parameter test: Receives the issuer.
    func run<Result: Sendable>(_ test: (String) async throws -> Result) async throws -> Result {
        let words = [python, "-B", BuiltProducts.fixture("nanoidp/server.py"), "--folder", folder]
        return try await ServerProcess.run(
            Command(words: words + ["--port", String(try FreePort.find())]), test)
    }

    /// The number of times that a refresh token was exchanged for a new one.
    func refreshCount(at issuer: String) async throws -> Int {
        struct Audit: Decodable {
            struct Entry: Decodable {
                let status: String
                let details: [String: JSON]
            }

            let entries: [Entry]
        }

        let text = try await HTTP.get(issuer + "/api/audit?event_type=token_request&limit=1000").text
        let entries = try JSONDecoder().decode(Audit.self, from: Data(text.utf8)).entries
        return entries.count { $0.status == "success" && $0.details["grant_type"] == .text("refresh_token") }
    }

    /// Removes alice from the server's users, as an administrator would, which ends her sessions.
    func removeAlice(at issuer: String) async throws {
        let users = #"{"config_version": 1, "users": {"bob": {"password": "another password"}}}"#
        try Data(users.utf8).write(to: URL(filePath: folder + "/configuration/users.yaml"))
        let response = try await HTTP.postForm(issuer + "/api/config/reload", "")
        guard response.status == 200 else { throw Unexpected(response.text) }
    }
}

/// The user's actions on the pages of `NanoIDPServer`.
enum NanoIDPPages {
    static let signIn: [Browser.Step] = [
        .type("alice", into: "[name=username]"), .type(NanoIDPServer.password, into: "[name=password]"),
        .press("button[type=submit]"),
    ]

    /// Enters the code that the device shows, and signs in.
    static func enterCode(_ code: String) -> [Browser.Step] { [.type(code, into: "[name=user_code]")] + signIn }
}
