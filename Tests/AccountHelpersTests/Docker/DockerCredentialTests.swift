import AccountKit
import Testing

@testable import AccountCommands
@testable import AccountHelpers

/// The protocol of docker-credential-helpers.
@Suite struct DockerCredentialTests {
    @Test(arguments: [
        ("ghcr.io", ["https://ghcr.io/"]), ("https://ghcr.io", ["https://ghcr.io/"]),
        (
            "https://index.docker.io/v1/",
            ["https://index.docker.io/v1", "https://docker.io/", "https://registry-1.docker.io/"]
        ),
        ("Registry.Example.com:5000/team", ["https://registry.example.com:5000/team"]),
        ("127.0.0.1:5000", ["https://127.0.0.1:5000/", "http://127.0.0.1:5000/"]),
        ("localhost", ["https://localhost/", "http://localhost/"]),
        ("http://127.0.0.1:5000", ["http://127.0.0.1:5000/"]),
        ("[::1]:5000", ["https://[::1]:5000/", "http://[::1]:5000/"]),
    ])
    func `Accepts a docker registry with or without a scheme`(server: String, urls: [String]) {
        #expect(DockerCredential.urls(of: server).map(\.description) == urls)
    }

    @Test(arguments: [
        "http://ghcr.io", "ghcr.io@evil.example", "https://ghcr.io@evil.example", "", "://", "ftp://ghcr.io",
        "ghcr.io\\x",
        "ghcr.io?x", "gһcr.io", "ghcr.io ", "ghcr.io/../x", "file:///etc/passwd",
    ])
    func `Rejects a docker registry that cannot have a rule`(server: String) {
        #expect(DockerCredential.urls(of: server) == [])
    }

    @Test func `Reads the credentials that docker stores`() throws {
        let stored = try DockerCredential.Credentials(
            Array(#"{"ServerURL":"ghcr.io","Username":"alice","Secret":"a\"b","Later":1}"#.utf8))
        #expect((stored.serverURL, stored.username, stored.secret) == ("ghcr.io", "alice", "a\"b"))
    }

    @Test(arguments: [
        "", "{}", "[]", "ghcr.io", #"{"ServerURL":"ghcr.io","Username":"alice"}"#,
        #"{"serverurl":"ghcr.io","Username":"a","Secret":"b"}"#, #"{"ServerURL":1,"Username":"a","Secret":"b"}"#,
    ])
    func `Rejects invalid credentials from docker`(text: String) {
        let error = #expect(throws: AccountError.self) { try DockerCredential.Credentials(Array(text.utf8)) }
        #expect(error?.code == .invalidArgument)
    }

    @Test(arguments: [
        (["/usr/local/bin/docker-credential-account", "get"], "account"), (["docker-credential-notes"], "notes"),
        (["/usr/bin/account", "get"], nil), (["docker-credential-"], nil), (["docker-credential"], nil), ([], nil),
    ])
    func `Derives the tool from the name of docker's helper link`(arguments: [String], tool: String?) {
        #expect(CommandLine.dockerHelperName(of: arguments) == tool)
        if let tool { #expect(CommandLine.toolName(of: arguments) == tool) }
    }
}
