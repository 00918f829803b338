@testable import EndToEndSupport
import Foundation
import Testing

/// An authorization server in Python that is not part of this project, with control endpoints for the tests; see
/// `Fixtures/door.py`.
struct PythonServer: Sendable {
    /// A request to the token endpoint.
    struct Request: Decodable, Equatable, Sendable {
        let grant: String
        let authentication: String
        let scope: String?
        let status: Int
    }

    static let password = "correct horse battery staple"

    /// The address of the server.
    let origin: String

    /// Prepares the server's Python environment, which takes a while the first time, and serves during the test.
    ///
    /// - Parameters:
    ///   - name: The folder in `Fixtures`.
    ///   - module: A module that the server imports.
    static func run<Result: Sendable>(
        _ name: String, importing module: String, _ test: (PythonServer) async throws -> Result
    ) async throws -> Result {
        try await Container.run { container in
            let python = try await PythonEnvironment.prepare(name, importing: module, in: container)
            let words = [python, "-B", BuiltProducts.fixture(name + "/server.py"), "--port"]
            return try await ServerProcess.run(
                Command(words: words + [String(try FreePort.find())], environment: container.environment)
            ) { try await test(PythonServer(origin: $0)) }
        }
    }

    /// Adds a client.
    ///
    /// - Parameter fields: How the client authenticates, see the description of the server; empty for a public client.
    func register(_ client: String, redirectURI: String, _ fields: [String: String]) async throws {
        let form = ["client_id": client, "redirect_uri": redirectURI].merging(fields) { $1 }.map { name, value in
            name + "=" + (value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
        }
        try await expect(try await HTTP.postForm(origin + "/control/client", form.joined(separator: "&")))
    }

    /// Expires a client's access tokens.
    func expireTokens(of client: String) async throws {
        try await expect(try await HTTP.postForm(origin + "/control/expire?client_id=" + client, ""))
    }

    /// Ends a client's sessions, as an administrator would.
    func endSignIns(of client: String) async throws {
        try await expect(try await HTTP.postForm(origin + "/control/end?client_id=" + client, ""))
    }

    /// A client's requests to the token endpoint, in order.
    func log(of client: String) async throws -> [Request] {
        let response = try await HTTP.get(origin + "/control/log?client_id=" + client)
        return try JSONDecoder().decode([Request].self, from: Data(response.text.utf8))
    }

    /// Signs alice in on the page of the MCP SDK's server, and follows the redirect.
    func signInAtMCP(at address: String) async throws {
        let page = try await HTTP.get(address).text
        guard let path = page.firstMatch(of: /action="([^"]+)"/)?.output.1 else { throw Unexpected(page) }
        let password = Self.password.replacing(" ", with: "+")
        _ = try await HTTP.postForm(origin + path, "username=alice&password=\(password)")
    }

    private func expect(_ response: HTTP.Response) async throws {
        guard response.status == 200 else { throw Unexpected("\(response.status) \(response.text)") }
    }
}

/// One server for all tests of a suite.
struct SharedPythonServer: SuiteTrait, TestScoping {
    @TaskLocal fileprivate static var current: PythonServer?

    let name: String
    let module: String

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withoutActuallyEscaping(function) { function in
            try await PythonServer.run(name, importing: module) { server in
                try await Self.$current.withValue(server) { try await function() }
            }
        }
    }
}

extension SuiteTrait where Self == SharedPythonServer {
    static func server(_ name: String, importing module: String) -> Self { Self(name: name, module: module) }
}

/// alice, with a separate client at the suite's server.
struct PythonServerUser: Sendable {
    static let secret = "s3crettests"

    let container: Container
    let account: Tool
    let server: PythonServer
    let client: String
    let redirectURI: String
    let issuer: String
    let userInfo: String

    /// Runs a test with alice before her first sign-in.
    ///
    /// - Parameters:
    ///   - path: The path of the issuer.
    ///   - userInfo: The path of the user info endpoint.
    ///   - secretMethod: The method by which the client must send its secret, `basic` or `post`, or `nil` if it has
    ///     none.
    ///   - fields: How a client without a secret authenticates; see ``PythonServer/register(_:redirectURI:_:)``.
    static func run(
        path: String = "", userInfo: String, secretMethod: String? = nil, fields: [String: String] = [:],
        _ test: (Self) async throws -> Void
    ) async throws {
        guard let server = SharedPythonServer.current else { throw Unexpected("the suite has no server") }
        let client = "client-" + UUID().uuidString.lowercased()
        let redirectURI = "http://127.0.0.1:\(try FreePort.find())/callback"
        let secretFields = secretMethod.map { ["client_secret": secret, "method": "client_secret_" + $0] }
        try await server.register(client, redirectURI: redirectURI, secretFields ?? fields)
        try await Container.run { container in
            try await test(
                Self(
                    container: container,
                    account: try .account(in: container).with(
                        "ACCOUNT_CLIENT_SECRET", secretMethod == nil ? nil : secret),
                    server: server, client: client, redirectURI: redirectURI, issuer: server.origin + path,
                    userInfo: server.origin + userInfo))
        }
    }

    /// The options of `login` for the service and the client.
    var options: [String] { ["--issuer", issuer, "--client-id", client, "--redirect-uri", redirectURI] }

    func signInWithPassword(_ more: [String] = []) async throws {
        let words = ["login", "--issuer", issuer, "--client-id", client, "--username", "alice", "--password-stdin"]
        let outcome = try await account.run(words + more, input: PythonServer.password + "\n")
        try #require(outcome.exitCode == 0, "\(outcome)")
    }

    /// Signs in on the service's pages.
    func signIn(following steps: [Browser.Step]) async throws -> BrowserLogin {
        try await Browser.run(in: container) { try await account.logIn(with: $0, following: steps, options) }
    }

    func expectVerified() async throws {
        let outcome = try await account("whoami", "--verify")
        #expect(outcome.exitCode == 0 && outcome.output == "alice\n", "\(outcome)")
    }

    /// Whether the service accepts an access token.
    func accepts(_ token: String) async throws -> Bool { try await HTTP.get(userInfo, bearer: token).status == 200 }

    func refreshes() async throws -> [PythonServer.Request] {
        try await server.log(of: client).filter { $0.grant == "refresh_token" }
    }
}

// MARK: - Expectations for all of these servers

extension PythonServerUser {
    /// Expects that eight processes that need a new token refresh once, and that each refresh uses the newest refresh
    /// token. The service would reject an earlier refresh token. The first access token is valid for ten minutes, and
    /// the next access token for an hour.
    ///
    /// - Parameter haveUniqueTokens: Whether access tokens that are issued in the same second differ. If not, the last
    ///   access token may be equal to a revoked token.
    func expectSingleUseTokens(haveUniqueTokens: Bool = true) async throws {
        try await account.expectOneNewToken(minimumValidity: 1800, inProcesses: 8)
        for _ in 1...2 {
            let outcome = try await account("refresh")
            #expect(outcome.exitCode == 0, "\(outcome)")
        }
        #expect(try await refreshes().map(\.status) == [200, 200, 200])
        if haveUniqueTokens { try await expectVerified() }
    }

    /// Expects a warning after a refresh with fewer scopes, since the service limits the next refresh token to these
    /// scopes.
    func expectWarningAfterNarrowing() async throws {
        #expect(try await account("token", "--scope", "openid").exitCode == 0)
        #expect(try await !account("status").output.contains("Problem"))
        for isAskedAgain in [false, true] {
            let before = try await refreshes().count
            let refresh = try await account("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")
            #expect(refresh.errors.contains("removed permissions from this session: it has lost profile"), "\(refresh)")
            let statuses = try await refreshes().dropFirst(before).map(\.status)
            #expect(statuses == (isAskedAgain ? [400, 200] : [200]))
        }
        let status = try await account("status")
        #expect(status.output.contains("Sign in again with `account login`"), "\(status)")
    }

    /// Signs in without a user, and expects that the token can be renewed and revoked.
    ///
    /// - Parameters:
    ///   - options: The options of `login`, besides the service.
    ///   - grant: The grant of each token request.
    func expectMachineSession(_ options: [String], grant: String = "client_credentials") async throws {
        let login = try await account.run(["login", "--issuer", issuer, "--client-id", client] + options)
        #expect(login.exitCode == 0, "\(login)")
        try await server.expireTokens(of: client)
        let whoami = try await account("whoami", "--verify")
        #expect(whoami.output == client + "\n", "\(whoami)")
        let refresh = try await account("refresh")
        #expect(refresh.exitCode == 0, "\(refresh)")
        let log = try await server.log(of: client)
        #expect(log.filter { $0.status == 200 }.map(\.grant) == Array(repeating: grant, count: 3), "\(log)")
    }

    func expectRevokedByLogout() async throws {
        let token = try await account.storedToken()
        #expect(try await accepts(token))
        let logout = try await account("logout", "--json")
        #expect(logout.exitCode == 0, "\(logout)")
        #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
        #expect(try await !accepts(token))
    }

    func expectRefusedRevocationToBeReported() async throws {
        let logout = try await account("logout", "--json")
        #expect(logout.exitCode == 0, "\(logout)")
        #expect(logout.output.contains(#""revocation":"refused""#), "\(logout)")
        #expect(!container.exists(container.archive))
    }

    func expectSignedOutByRejection() async throws {
        try await server.endSignIns(of: client)
        let ended = try await account("whoami", "--max-age", "0")
        #expect(ended.exitCode == 77, "\(ended)")
        #expect(ended.errors.contains("\(issuer) ended this session "), "\(ended)")
        #expect(!container.exists(container.archive))
    }
}

extension Tool {
    /// Expects that concurrent commands that need a new token do not send a spent refresh token, at a service with
    /// single-use refresh tokens. A command that starts after another command has finished refreshes again.
    ///
    /// - Parameter user: The output of `whoami`.
    func expectNoneSpentTwice(by user: String) async throws {
        for _ in 1...2 {
            try await withThrowingTaskGroup { group in
                for _ in 1...4 { group.addTask { try await self("token", "--min-validity", "86400") } }
                for try await outcome in group { #expect(outcome.exitCode == 0, "\(outcome)") }
            }
            let verified = try await verify()
            #expect(verified.output == user + "\n", "\(verified)")
        }
    }
}
