/// nanoidp on loopback: an authorization server that this project did not write; see `Fixtures/nanoidp/server.py`.
struct NanoIDPServer: Sendable {
    static let password = "correct horse battery staple"
    static let secret = "s3cret-of-the-tests"

    /// What everything is kept in.
    private let folder: String
    private let python: String

    /// Prepares the server's Python environment, which takes a while the first time.
    init(in container: Container) async throws {
        python = try await PythonEnvironment.prepare("nanoidp", importing: "nanoidp", in: container)
        folder = container.path("nanoidp")
    }

    /// Serves, and stops after the test.
    ///
    /// - Parameters:
    ///   - port: Where; `nil` for any free port.
    ///   - test: Gets the issuer.
    func run<Result: Sendable>(port: Int? = nil, _ test: (String) async throws -> Result) async throws -> Result {
        let words = [python, "-B", BuiltProducts.fixture("nanoidp/server.py"), "--folder", folder]
        return try await ServerProcess.run(
            Command(words: words + ["--port", String(try port ?? FreePort.find())]), test)
    }
}

/// What a user does on the pages of `NanoIDPServer`.
enum NanoIDPPages {
    static let signIn: [Browser.Step] = [
        .type("alice", into: "[name=username]"), .type(NanoIDPServer.password, into: "[name=password]"),
        .press("button[type=submit]"),
    ]

    /// Lets the device in that shows a code.
    static func enterCode(_ code: String) -> [Browser.Step] { [.type(code, into: "[name=user_code]")] + signIn }
}
