/// Debian's Glewlwyd on loopback: an authorization server that this project did not write; see
/// `Fixtures/glewlwyd/server.py`.
struct GlewlwydServer: Sendable {
    static let password = "correct horse battery staple"
    static let secret = "s3cret-of-the-tests"

    /// What everything is kept in.
    private let folder: String

    init(in container: Container) { folder = container.path("glewlwyd") }

    /// Serves, and stops after the test.
    ///
    /// - Parameters:
    ///   - port: Where; `nil` for any free port.
    ///   - redirectURIs: Where a browser may be sent back to; nothing else will do. Those of the first run count.
    ///   - test: Gets the issuer.
    func run<Result: Sendable>(
        port: Int? = nil, redirectURIs: [String] = [], _ test: (String) async throws -> Result
    ) async throws -> Result {
        let words = ["python3", "-B", BuiltProducts.fixture("glewlwyd/server.py"), "--folder", folder]
        let options =
            ["--port", String(try port ?? FreePort.find())] + redirectURIs.flatMap { ["--redirect-uri", $0] }
        return try await ServerProcess.run(Command(words: words + options), test)
    }
}

/// What a user does on the pages of `GlewlwydServer`.
enum GlewlwydPages {
    /// The first time; the service knows the browser afterwards.
    static let signIn: [Browser.Step] = [
        .type("alice", into: "#username"), .type(GlewlwydServer.password, into: "#password"), .press("#loginbut"),
    ]

    /// The first time for a client; the service knows what was granted afterwards.
    static let grant: [Browser.Step] =
        ["profile", "email", "offline_access"].map { .press("#grant-" + $0) } + [.press("button.btn-primary")]

    static let goOn: [Browser.Step] = [.press("button.btn-success")]

    static func enterCode(_ code: String) -> [Browser.Step] {
        [.type(code, into: "input[maxlength='9']"), .press("button.btn-primary:not([disabled])")]
    }
}
