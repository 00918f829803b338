import AccountKit
import Testing

@testable import AccountHTTP

struct ResourceDiscoveryTests {
    private func discovery(
        of url: String = "https://api.example/mcp",
        _ answer: @escaping @Sendable (String) throws(AuthorityError) -> ServiceResponse
    ) throws -> ResourceDiscovery {
        ResourceDiscovery(url: try ServiceURL(url)) { request throws(AuthorityError) in
            #expect(request.authorization == nil)
            return try answer(request.url.description)
        }
    }

    private static let document = #"""
        {"resource":"https://api.example/mcp","authorization_servers":["https://id.example/"],
         "scopes_supported":["read","write","read","bad scope"]}
        """#

    @Test(arguments: [
        (
            "https://api.example/mcp",
            [
                "https://api.example/.well-known/oauth-protected-resource/mcp",
                "https://api.example/.well-known/oauth-protected-resource",
            ]
        ),
        (
            "https://api.example/a/b/",
            [
                "https://api.example/.well-known/oauth-protected-resource/a/b",
                "https://api.example/.well-known/oauth-protected-resource",
            ]
        ),
        ("https://api.example/", ["https://api.example/.well-known/oauth-protected-resource"]),
        ("https://api.example", ["https://api.example/.well-known/oauth-protected-resource"]),
    ])
    func `Inserts the well-known name, and then tries the origin`(url: String, expected: [String]) throws {
        let discovery = try discovery(of: url) { _ throws(AuthorityError) in ServiceResponse(404) }
        #expect(discovery.wellKnownURLs.map(\.description) == expected)
    }

    @Test func `Reads the document and the scopes that the challenge contains`() async throws {
        let resource = try await discovery { url throws(AuthorityError) in
            switch url {
            case "https://api.example/mcp":
                ServiceResponse(
                    401,
                    [
                        "WWW-Authenticate":
                            #"Basic realm="x", Bearer scope="read", resource_metadata="https://meta.example/1""#
                    ])
            case "https://meta.example/1": .json(200, Self.document)
            default: ServiceResponse(500)
            }
        }.resource()
        #expect(
            resource
                == ProtectedResource(
                    identifier: "https://api.example/mcp", authorizationServers: ["https://id.example/"],
                    scopes: ["read"]))
    }

    @Test(arguments: [200, 400, 403, 404, 405, 302, 500])
    func `Tries the well-known addresses after any response but a challenge`(status: Int) async throws {
        let resource = try await discovery { url throws(AuthorityError) in
            switch url {
            case "https://api.example/mcp": ServiceResponse(status)
            case "https://api.example/.well-known/oauth-protected-resource": .json(200, Self.document)
            default: ServiceResponse(404)
            }
        }.resource()
        #expect(resource.scopes == ["read", "write", "bad", "scope"])
    }

    @Test func `Tries the well-known addresses if the API streams without end`() async throws {
        let resource = try await discovery { url throws(AuthorityError) in
            if url == "https://api.example/mcp" { throw .noResponse(.timeout) }
            return .json(200, Self.document)
        }.resource()
        #expect(resource.identifier == "https://api.example/mcp")
    }

    @Test func `Treats the URL as an issuer if there is no document`() async throws {
        let resource = try await discovery { _ throws(AuthorityError) in ServiceResponse(404) }.resource()
        #expect(
            resource
                == ProtectedResource(
                    identifier: nil, authorizationServers: ["https://api.example/mcp"], scopes: nil))
    }

    @Test(arguments: [
        (429, AuthorityError.unavailable(status: 429, retryAfter: nil)),
        (503, .unavailable(status: 503, retryAfter: nil)),
        (302, .intercepted("…")),
    ])
    func `A temporary failure is not the absence of a document`(status: Int, failure: AuthorityError) async throws {
        let discovery = try discovery { url throws(AuthorityError) in
            ServiceResponse(url == "https://api.example/mcp" ? 404 : status)
        }
        #expect(kind(await asyncFailure { try await discovery.resource() }) == failure)
    }

    @Test(arguments: [
        ("https://api.example", true), ("https://api.example/", true), ("https://api.example/mcp", true),
        ("https://api.example/mcp/", true), ("https://api.example:443/mcp", true), ("https://API.example/mcp", true),
        ("https://api.example/mc", false), ("https://api.example/mcp/x", false), ("https://api.example/mcp2", false),
        ("http://api.example/mcp", false), ("https://api.example:8443/mcp", false), ("https://example/mcp", false),
        ("https://api.example/mcp?a", false), ("https://api.example/MCP", false), ("urn:x", false), ("", false),
    ])
    func `Accepts the URL itself and its parents, by whole segments`(resource: String, isAccepted: Bool) throws {
        #expect(try ProtectedResource.covers(resource, ServiceURL("https://api.example/mcp")) == isAccepted)
    }

    @Test(arguments: ["..", "..;", "%2e%2e", "%252e%252e", "a%2fb", "a%5cb", ""])
    func `A path that servers may read as another is not below a resource`(part: String) throws {
        let url = try ServiceURL("https://api.example/mcp/\(part)/x")
        #expect(!ProtectedResource.covers("https://api.example/mcp", url))
        #expect(ProtectedResource.covers("https://api.example", url))
        #expect(ProtectedResource.covers(url.description, url))
    }

    @Test(arguments: [
        #"{}"#, #"{"resource":7,"authorization_servers":["https://id.example"]}"#,
        #"{"resource":"https://api.example/mcp"}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":[]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":[7]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["http://id.example"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["http://127.0.0.1"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["https://127.0.0.1"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["https://localhost"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["https://10.0.0.1"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":null}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":7}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":"http://id.example"}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["https://[fd00::1]"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["https://169.254.169.254"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["https://2130706433"]}"#,
        #"{"resource":"https://evil.example/mcp","authorization_servers":["https://id.example"]}"#,
        #"{"resource":"https://api.example/mcp#x","authorization_servers":["https://id.example"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["https://id.example"],"bearer_methods_supported":["body"]}"#,
    ])
    func `Refuses a document that could mislead the user`(document: String) async throws {
        let discovery = try discovery { url throws(AuthorityError) in
            url == "https://api.example/mcp" ? ServiceResponse(404) : .json(200, document)
        }
        #expect(kind(await asyncFailure { try await discovery.resource() }) == .misconfigured("…"))
    }

    @Test func `Names both values if the document is for another resource`() async throws {
        let discovery = try discovery { url throws(AuthorityError) in
            .json(200, #"{"resource":"https://evil.example/x","authorization_servers":["https://id.example"]}"#)
        }
        let failure = await asyncFailure { try await discovery.resource() }
        #expect("\(try #require(failure))".contains("https://evil.example/x"))
        #expect("\(try #require(failure))".contains("https://api.example/mcp"))
    }

    @Test(arguments: [
        ("https://10.0.0.9/mcp", true), ("https://192.168.1.1/mcp", true), ("https://127.0.0.1/mcp", false),
    ])
    func `Accepts a server in the private network of the API`(api: String, isAccepted: Bool) async throws {
        let discovery = try discovery(of: api) { url throws(AuthorityError) in
            .json(200, #"{"resource":"\#(api)","authorization_servers":["https://10.0.0.1"]}"#)
        }
        #expect((await asyncFailure { try await discovery.resource() } == nil) == isAccepted)
    }

    @Test func `The verbatim form of an issuer accepts only one spelling`() throws {
        var issuer = try Issuer("https://id.example/")
        issuer.form = .verbatim("https://id.example/")
        #expect(issuer.isNamed(by: "https://id.example/"))
        #expect(!issuer.isNamed(by: "https://id.example"))
        #expect(!issuer.isNamed(by: "https://ID.example/"))
    }

    @Test func `Tries three documents for an issuer that an API names`() throws {
        #expect(
            try Discovery(issuer: Issuer("https://id.example/a"), isFromAPI: true).urls.map(\.description) == [
                "https://id.example/.well-known/oauth-authorization-server/a",
                "https://id.example/.well-known/openid-configuration/a",
                "https://id.example/a/.well-known/openid-configuration",
            ])
        #expect(
            try Discovery(issuer: Issuer("https://id.example"), isFromAPI: true).urls.map(\.description) == [
                "https://id.example/.well-known/oauth-authorization-server",
                "https://id.example/.well-known/openid-configuration",
            ])
    }
}
