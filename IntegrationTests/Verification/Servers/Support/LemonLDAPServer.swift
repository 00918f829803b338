@testable import EndToEndSupport
import Foundation
import Testing

/// Debian's LemonLDAP::NG on loopback: an authorization server that is not part of this project; see
/// `Fixtures/lemonldap/server.py`.
struct LemonLDAPServer: Sendable {
    let issuer: String
    /// The redirect URI of each client, which the server compares exactly.
    let redirectURI: String
    private let folder: String

    /// Serves during the test.
    static func run<Result: Sendable>(_ test: (LemonLDAPServer) async throws -> Result) async throws -> Result {
        try await Container.run { container in
            let (folder, redirectURI) = (
                container.path("lemonldap"), "http://127.0.0.1:\(try FreePort.find())/callback"
            )
            let words = ["python3", "-B", BuiltProducts.fixture("lemonldap/server.py"), "--folder", folder]
            let options = ["--port", String(try FreePort.find()), "--redirect-uri", redirectURI]
            return try await ServerProcess.run(Command(words: words + options)) {
                try await test(LemonLDAPServer(issuer: $0, redirectURI: redirectURI, folder: folder))
            }
        }
    }

    /// A token as stored by the service.
    private struct Stored: Decodable {
        let userSession: String?

        enum CodingKeys: String, CodingKey {
            case userSession = "user_session_id"
        }
    }

    private var sessions: String { folder + "/sessions" }

    private func stored(_ name: String) throws -> Stored {
        try JSONDecoder().decode(Stored.self, from: Data(contentsOf: URL(filePath: sessions + "/" + name)))
    }

    /// The user's session from which the service issued an access token.
    func userSession(of token: String) throws -> String {
        guard let session = try stored(token).userSession else { throw Unexpected("the token has no session") }
        return session
    }

    /// Removes all tokens of a user's session, but not the session itself.
    func removeTokens(of userSession: String) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: sessions) where name != "lock" {
            // Other tests add and remove tokens concurrently.
            guard let stored = try? stored(name), stored.userSession == userSession else { continue }
            try remove(name)
        }
    }

    /// Removes an access token or a user's session at the service.
    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: sessions + "/" + name) }
}

/// One server for all tests of a suite.
struct SharedLemonLDAP: SuiteTrait, TestScoping {
    @TaskLocal fileprivate static var current: LemonLDAPServer?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withoutActuallyEscaping(function) { function in
            try await LemonLDAPServer.run { server in
                try await Self.$current.withValue(server) { try await function() }
            }
        }
    }
}

extension SuiteTrait where Self == SharedLemonLDAP {
    static var lemonLDAP: Self { Self() }
}

extension LemonLDAPServer {
    /// The server of the suite.
    static var shared: LemonLDAPServer {
        get throws {
            guard let server = SharedLemonLDAP.current else { throw Unexpected("the suite has no server") }
            return server
        }
    }
}
