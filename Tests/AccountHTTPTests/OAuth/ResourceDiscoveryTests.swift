import AccountSupport
import AccountCrypto
import AccountKit
import FoundationEssentials
import HTTPTypes
import Synchronization
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
                "https://api.example/.well-known/oauth-protected-resource/a/b/",
                "https://api.example/.well-known/oauth-protected-resource/a/b",
                "https://api.example/.well-known/oauth-protected-resource",
            ]
        ),
        (
            "https://api.example/mcp?tenant=1",
            [
                "https://api.example/.well-known/oauth-protected-resource/mcp?tenant=1",
                "https://api.example/.well-known/oauth-protected-resource/mcp",
                "https://api.example/.well-known/oauth-protected-resource",
            ]
        ),
        (
            "https://api.example?tenant=1",
            [
                "https://api.example/.well-known/oauth-protected-resource?tenant=1",
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
        #expect(resource.identifier == nil && resource.scopes == nil)
        #expect(resource.authorizationServers == ["https://api.example/mcp"])
        #expect(
            resource.answers == [
                "https://api.example/.well-known/oauth-protected-resource/mcp: 404",
                "https://api.example/.well-known/oauth-protected-resource: 404",
            ])
    }

    // MARK: Every address is tried

    private static let root = "https://api.example/.well-known/oauth-protected-resource"

    private static let answers: [ServiceResponse] =
        [204, 302, 307, 400, 401, 403, 404, 405, 410].map { ServiceResponse($0, ["Location": "/elsewhere"]) } + [
            .json(200, "{}"), .json(200, "[]"), .json(200, "{"), .json(200, ""), .json(200, #"{"error":"not found"}"#),
            .json(200, "null"), .json(200, "Not Found"), .json(200, #"{"data":\#(document)}"#),
            // Metadata without authorization servers, which are optional.
            .json(200, #"{"resource":"https://api.example/mcp"}"#),
            .json(200, #"{"resource":"https://api.example","authorization_servers":[]}"#),
            ServiceResponse(200, ["Content-Type": "text/html"], "<!DOCTYPE html>"),
            .json(200, document.replacing("api.example", with: "evil.example")),
        ]

    @Test(arguments: answers.indices)
    func `Finds the document after any other answer at the first address`(index: Int) async throws {
        for challenged in [true, false] {
            let resource = try await discovery { url throws(AuthorityError) in
                switch url {
                case "https://api.example/mcp" where challenged:
                    ServiceResponse(401, ["WWW-Authenticate": #"Bearer resource_metadata="https://meta.example/1""#])
                case "https://api.example/mcp": ServiceResponse(405)
                case Self.root: .json(200, Self.document)
                default: Self.answers[index]
                }
            }.resource()
            #expect(resource.identifier == "https://api.example/mcp")
        }
    }

    @Test(arguments: [429, 500, 503])
    func `Asks an address again, and needs it only without another document`(status: Int) async throws {
        for (isRepaired, hasOther) in [(true, false), (false, true), (false, false)] {
            let count = Counter()
            let discovery = try discovery { url throws(AuthorityError) in
                switch url {
                case "https://api.example/mcp": ServiceResponse(405)
                case Self.root: hasOther ? .json(200, Self.document) : ServiceResponse(404)
                default: count.next() > 1 && isRepaired ? .json(200, Self.document) : ServiceResponse(status)
                }
            }
            let resource = try await discovery.resource()
            let isFound = isRepaired || hasOther
            #expect((resource.identifier != nil) == isFound && resource.namesServers == isFound)
            #expect(resource.failure == (isFound ? nil : .unavailable(status: status, retryAfter: nil)))
        }
    }

    @Test func `A temporary failure where the API names its metadata counts`() async throws {
        for method in [HTTPRequest.Method.get, .post] {
            let discovery = ResourceDiscovery(url: try ServiceURL("https://api.example/mcp")) {
                request throws(AuthorityError) in
                if request.url.path == "/meta" { return ServiceResponse(503) }
                guard request.url.path == "/mcp", request.method == method else { return ServiceResponse(404) }
                return ServiceResponse(
                    401, ["WWW-Authenticate": #"Bearer resource_metadata="https://api.example/meta""#])
            }
            let failure = await asyncFailure { try await discovery.resource() }
            #expect(failure == .unavailable(status: 503, retryAfter: nil))
        }
    }

    @Test func `Reads a document that is compressed or begins with a mark`() async throws {
        let compressed =
            Data(
                base64Encoded:
                    "H4sIAAAAAAACAz3MQQrCQAxG4btkXZz9XEVKCTM/NGCbkGSqKN5du+n+fe9DjtDhDVRpzbSopbDJDS/e7IGyNaOJeOSqLm9O"
                    + "0X0J+AEPqveLSL8EzRNFU0MsMczUE/1MHdz/q6dLgubvD22ncH96AAAA") ?? Data()
        let plain = Data(#"\#u{FEFF}\#(Self.document)"#.utf8)
        for (body, coding) in [(compressed, "gzip"), (compressed, "identity"), (plain, "")] {
            var response = ServiceResponse(200, ["Content-Encoding": coding])
            response.body = WipedBytes([UInt8](body))
            let resource = try await discovery { [response] url throws(AuthorityError) in
                url == Self.root ? response : ServiceResponse(404)
            }.resource()
            #expect(resource.identifier == "https://api.example/mcp")
        }
    }

    @Test(arguments: [
        "Bearer resource_metadata=https://meta.example/1, scope=a", "Bearer resource_metadata=https://meta.example/1",
        #"Bearer realm="x" resource_metadata="https://meta.example/1" scope="a""#,
        #"Bearer error=invalid_token; Resource_Metadata="https://meta.example/1""#,
        "Bearer resource_metadata='https://meta.example/1'", #"resource_metadata="https://meta.example/1""#,
    ])
    func `Finds the address in a challenge that breaks the grammar`(field: String) async throws {
        let resource = try await discovery { url throws(AuthorityError) in
            switch url {
            case "https://api.example/mcp": ServiceResponse(401, ["WWW-Authenticate": field])
            case "https://meta.example/1": .json(200, Self.document)
            default: ServiceResponse(404)
            }
        }.resource()
        #expect(resource.identifier == "https://api.example/mcp")
        #expect((resource.scopes == ["a"]) == field.contains("scope="))
    }

    @Test(arguments: ["null", "[]", "\"\""])
    func `Metadata without authorization servers leaves these open`(servers: String) async throws {
        let document =
            #"{"resource":"https://api.example","authorization_servers":\#(servers),"scopes_supported":["a"]}"#
        let resource = try await discovery { url throws(AuthorityError) in
            url == Self.root ? .json(200, document) : ServiceResponse(500)
        }.resource()
        #expect(resource.identifier == "https://api.example" && resource.scopes == ["a"])
        #expect(!resource.namesServers && resource.authorizationServers == ["https://api.example/mcp"])
    }

    @Test(arguments: [
        "", "x", "//meta.example/1", "http://meta.example/1", "ftp://meta.example", "https://a@meta.example/",
    ])
    func `An odd address in a challenge leads to the well-known addresses`(address: String) async throws {
        let resource = try await discovery { url throws(AuthorityError) in
            switch url {
            case "https://api.example/mcp":
                ServiceResponse(401, ["WWW-Authenticate": #"Bearer resource_metadata="\#(address)", scope="a""#])
            case Self.root: .json(200, Self.document)
            default: ServiceResponse(404)
            }
        }.resource()
        #expect(resource.identifier == "https://api.example/mcp" && resource.scopes == ["a"])
    }

    @Test func `A path in a challenge is one on the server of the API`() async throws {
        let resource = try await discovery { url throws(AuthorityError) in
            switch url {
            case "https://api.example/mcp":
                ServiceResponse(401, ["WWW-Authenticate": #"Bearer resource_metadata="/meta?x=1""#])
            case "https://api.example/meta?x=1": .json(200, Self.document)
            default: ServiceResponse(500)
            }
        }.resource()
        #expect(resource.identifier == "https://api.example/mcp")
    }

    @Test(arguments: ["https://169.254.169.254/", "https://10.0.0.1/x", "https://localhost/x", "http://127.0.0.1/x"])
    func `A challenge that names a private network ends the search`(address: String) async throws {
        let discovery = try discovery { url throws(AuthorityError) in
            url == "https://api.example/mcp"
                ? ServiceResponse(401, ["WWW-Authenticate": #"Bearer resource_metadata="\#(address)""#])
                : .json(200, Self.document)
        }
        #expect(kind(await asyncFailure { try await discovery.resource() }) == .misconfigured("…"))
    }

    // MARK: The challenge to POST

    @Test(arguments: [200, 204, 302, 400, 401, 403, 404, 405, 406, 426, 500])
    func `Finds metadata that only the challenge to POST names`(status: Int) async throws {
        let posted = Mutex<[ServiceRequest]>([])
        let discovery = ResourceDiscovery(url: try ServiceURL("https://api.example/mcp")) {
            request throws(AuthorityError) in
            switch (request.method, request.url.description) {
            case (.post, _):
                posted.withLock { $0.append(request) }
                return ServiceResponse(
                    401, ["WWW-Authenticate": #"Bearer resource_metadata="https://api.example/meta", scope="read""#])
            case (_, "https://api.example/mcp"):
                // A challenge of another scheme, or without an address, does not say where the metadata is.
                return ServiceResponse(status, ["WWW-Authenticate": status == 401 ? "Bearer" : "Basic realm=x"])
            case (_, "https://api.example/meta"): return .json(200, Self.document)
            // Some servers crash at an unknown path.
            default: return ServiceResponse(status == 500 ? 500 : 404)
            }
        }
        #expect(try await discovery.resource().scopes == ["read"])
        let requests = posted.withLock(\.self)
        #expect(requests.map(\.url.description) == ["https://api.example/mcp"])
        let request = try #require(requests.first)
        #expect(request.authorization == nil && request.secrets.isEmpty)
        #expect(String(decoding: request.body ?? Data(), as: UTF8.self).contains(#""method":"initialize""#))
    }

    @Test func `Sends no POST request if it is not necessary`() async throws {
        for hasChallenge in [true, false] {
            let discovery = ResourceDiscovery(url: try ServiceURL("https://api.example/mcp")) {
                request throws(AuthorityError) in
                #expect(request.method == .get)
                if request.url.path == "/mcp" {
                    return hasChallenge ? ServiceResponse(401, ["WWW-Authenticate": "Bearer"]) : ServiceResponse(405)
                }
                return .json(200, Self.document)
            }
            #expect(try await discovery.resource().identifier != nil)
        }
        // The server is not reachable now.
        let discovery = ResourceDiscovery(url: try ServiceURL("https://api.example/mcp")) {
            request throws(AuthorityError) in
            #expect(request.method == .get)
            throw .noResponse(.refused)
        }
        #expect(await asyncFailure { try await discovery.resource() } == .noResponse(.refused))
    }

    // MARK: The content of the document

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
        #"{"resource":7,"authorization_servers":["https://id.example"]}"#,
        #"{"authorization_servers":["https://id.example"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":[7]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["/oauth"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["https://id.example?x=1"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["http://id.example"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["http://127.0.0.1"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["https://127.0.0.1"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["https://localhost"]}"#,
        #"{"resource":"https://api.example/mcp","authorization_servers":["https://10.0.0.1"]}"#,
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

    @Test(arguments: [
        (#"["https://id.example/"]"#, ["https://id.example/"]),
        (#"[7,"","http://id.example","https://10.0.0.1","https://id.example"]"#, ["https://id.example"]),
        (#"["/","https://id.example?x=1","https://id.example"]"#, ["https://id.example"]),
        (#""https://id.example/a/""#, ["https://id.example/a/"]),
        (#"["https://id.example","https://ID.example:443/"]"#, ["https://id.example"]),
        (#"["https://id.example/a","https://id.example/a/"]"#, ["https://id.example/a", "https://id.example/a/"]),
    ])
    func `Returns each usable authorization server once`(servers: String, expected: [String]) async throws {
        let discovery = try discovery { url throws(AuthorityError) in
            .json(200, #"{"resource":"https://API.example:443/mcp/","authorization_servers":\#(servers)}"#)
        }
        let resource = try await discovery.resource()
        #expect(resource.authorizationServers == expected)
        // The service gets the spelling of the API.
        #expect(resource.identifier == "https://API.example:443/mcp/")
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
