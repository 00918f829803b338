import AccountSupport
import AccountKit
import FoundationEssentials
import Logging

@testable import AccountHTTP

extension OAuthAuthority {
    /// An authority with the usual arguments of a test.
    static func test(
        _ issuer: String, scopes: [String] = ["openid"], endpoints: OAuthEndpoints? = nil,
        timeout: Duration = .seconds(20), logger: Logger? = nil, transport: HTTPTransport = .shared
    ) throws -> OAuthAuthority {
        try HTTPTransport.$shared.withValue(transport) {
            try OAuthAuthority(
                issuer: issuer, clientID: "tool", scopes: scopes, endpoints: endpoints, timeout: timeout,
                clock: FixedClock(), logger: logger)
        }
    }

    /// An authority with fixed endpoints at a server's address.
    static func direct(_ server: LoopbackServer, timeout: Duration = .seconds(20)) throws -> OAuthAuthority {
        try test(server.address, endpoints: .all(at: server.address), timeout: timeout)
    }
}

extension OAuthEndpoints {
    static func all(at address: String) throws(AccountError) -> OAuthEndpoints {
        try OAuthEndpoints(token: "\(address)/token", userInfo: "\(address)/userinfo", revocation: "\(address)/revoke")
    }
}

/// The discovery document of a server.
func discoveryDocument(_ address: String, without name: String? = nil) -> String {
    let members = [
        "issuer": address, "token_endpoint": "\(address)/token", "userinfo_endpoint": "\(address)/userinfo",
        "revocation_endpoint": "\(address)/revoke",
    ]
    return "{" + members.filter { $0.key != name }.map { "\"\($0)\":\"\($1)\"" }.joined(separator: ",") + "}"
}

/// An account of `issuer` with the canary as its tokens.
func account(at issuer: String?, id: String = "248289761001", refreshToken: String? = nil) -> Account {
    Account(
        id: id, issuer: issuer,
        credentials: Credentials(
            accessToken: Secret(canary), refreshToken: refreshToken.map { Secret($0) }, clientID: "tool",
            issuedAt: FixedClock().now))
}

extension OAuthAuthority {
    /// The endpoints of the first document and of the service's entry.
    func endpoints() async throws -> OAuthEndpoints {
        let (documents, discovery) = (
            try await service().connection.documents, try await service().connection.discovery
        )
        var urls = try await documents.endpoint(.token)?.document.urls ?? [:]
        for name in EndpointName.allCases where urls[name] == nil { urls[name] = discovery.knownURL(name) }
        guard let endpoints = OAuthEndpoints(urls) else { throw discovery.namesNoToken }
        return endpoints
    }
}

extension OAuthEndpoints {
    subscript(name: EndpointName) -> String? { urls[name]?.description }
}

extension Discovery {
    /// The endpoints of a document, which must contain a token endpoint.
    func endpoints(in response: ServiceResponse) throws -> OAuthEndpoints {
        guard let endpoints = OAuthEndpoints(try document(in: response).urls) else { throw namesNoToken }
        return endpoints
    }
}
