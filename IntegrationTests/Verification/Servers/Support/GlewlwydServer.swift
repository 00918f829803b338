@testable import EndToEndSupport
import Foundation

/// Debian's Glewlwyd on loopback: an authorization server that is not part of this project; see
/// `Fixtures/glewlwyd/server.py`.
struct GlewlwydServer: Sendable {
    static let password = "correct horse battery staple"
    static let secret = "s3cret-of-the-tests"

    /// The folder of the server's data.
    private let folder: String

    init(in container: Container) { folder = container.path("glewlwyd") }

    /// Serves during the test.
    ///
    /// - Parameters:
    ///   - redirectURIs: The redirect URIs that the server accepts, compared exactly. Only those of the first run are
    ///     used.
    ///   - options: Further options of the server.
    ///   - test: Receives the issuer.
    func run<Result: Sendable>(
        redirectURIs: [String] = [], options: [String] = [], _ test: (String) async throws -> Result
    ) async throws -> Result {
        let command = command(
            port: try FreePort.find(), redirectURIs.flatMap { ["--redirect-uri", $0] } + options)
        return try await ServerProcess.run(command, test)
    }

    private func command(port: Int, _ options: [String]) -> Command {
        let words = ["python3", "-B", BuiltProducts.fixture("glewlwyd/server.py"), "--folder", folder]
        return Command(words: words + ["--port", String(port)] + options)
    }

    /// Revokes alice's refresh tokens, as she would on the server's profile page.
    func revokeAll(at issuer: String) async throws {
        guard let port = URL(string: issuer)?.port else { throw Unexpected(issuer) }
        let outcome = try await command(port: port, ["--revoke-all"]).run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    /// The number of events in the server's log that contain a text, such as `Access token generated`.
    func eventCount(_ text: String) throws -> Int {
        let log = try String(contentsOfFile: folder + "/glewlwyd.log", encoding: .utf8)
        return log.split(separator: "\n").count { $0.contains(text) }
    }
}

/// The user's actions on the pages of `GlewlwydServer`.
enum GlewlwydPages {
    /// Needed for the first sign-in only, since the service remembers the browser.
    static let signIn: [Browser.Step] = [
        .type("alice", into: "#username"), .type(GlewlwydServer.password, into: "#password"), .press("#loginbut"),
    ]

    /// Needed for a client's first sign-in only, since the service remembers the grant.
    static let grant: [Browser.Step] =
        ["profile", "email", "offline_access"].map { .press("#grant-" + $0) } + [.press("button.btn-primary")]

    static let goOn: [Browser.Step] = [.press("button.btn-success")]

    static func enterCode(_ code: String) -> [Browser.Step] {
        [.type(code, into: "input[maxlength='9']"), .press("button.btn-primary:not([disabled])")]
    }
}
