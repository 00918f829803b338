import AccountKit

/// The request that exchanges an assertion for an access token.
public enum WorkloadGrant: String, Sendable, CaseIterable {
    /// The assertion authenticates the client in a client credentials grant (RFC 7523, section 2.2).
    case clientAssertion = "client-assertion"

    /// The assertion is the grant (RFC 7523, section 2.1).
    case jwtBearer = "jwt-bearer"

    /// The assertion is the subject token of a token exchange (RFC 8693).
    case tokenExchange = "token-exchange"

    /// The value of `grant_type`.
    var type: String {
        switch self {
        case .clientAssertion: MachineGrant.clientCredentials
        case .jwtBearer: "urn:ietf:params:oauth:grant-type:jwt-bearer"
        case .tokenExchange: "urn:ietf:params:oauth:grant-type:token-exchange"
        }
    }

    package init?(type: String) {
        guard let grant = Self.allCases.first(where: { $0.type == type }) else { return nil }
        self = grant
    }
}

/// The identity of a program on its platform.
struct WorkloadIdentity: Sendable {
    var source: WorkloadSource

    /// The grant of a sign-in. If `nil`, the metadata of the service determines the grant.
    var grant: WorkloadGrant?

    init(source: WorkloadSource, grant: WorkloadGrant?) throws(AccountError) {
        try source.check()
        self.source = source
        self.grant = grant
    }
}
