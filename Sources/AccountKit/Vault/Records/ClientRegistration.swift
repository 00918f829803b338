package import AccountSupport

/// A client that AccountKit registered for the app at a service (RFC 7591, section 3.2.1).
package struct ClientRegistration: Sendable, Equatable {
    package var issuer: String
    package var clientID: String

    /// `nil` for a public client.
    package var clientSecret: Secret?

    /// When the secret expires; `nil` for never.
    package var secretExpiresAt: Date?

    /// How the client sends its secret; `nil` if the metadata of the service decides.
    package var clientAuthentication: String?

    /// The registered redirect URI, with its port.
    package var redirectURI: String

    /// The scopes in the request.
    package var scopes: [String]

    /// The registered grants, such as `authorization_code`.
    package var grants: [String]

    /// Where the registration can be removed, with its token (RFC 7592, section 2); `nil` if the service offers none.
    package var management: Management?

    package struct Management: Sendable, Equatable {
        package var url: String
        package var token: Secret

        package init(url: String, token: Secret) {
            self.url = url
            self.token = token
        }
    }

    package var createdAt: Date

    package init(
        issuer: String, clientID: String, clientSecret: Secret? = nil, secretExpiresAt: Date? = nil,
        clientAuthentication: String? = nil, redirectURI: String, scopes: [String], grants: [String] = [],
        management: Management? = nil, createdAt: Date
    ) {
        self.issuer = issuer
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.secretExpiresAt = secretExpiresAt
        self.clientAuthentication = clientAuthentication
        self.redirectURI = redirectURI
        self.scopes = scopes
        self.grants = grants
        self.management = management
        self.createdAt = createdAt
    }
}

/// The management token has the tag of an access token, which it is (RFC 7592, section 3).
extension ClientRegistration: SealedPayload {
    static var sealedName: String { "a registration" }

    var sealedRecord: [String: ProfileValue] {
        var record: [String: ProfileValue] = [
            "kind": .string("registration"), "issuer": .string(issuer), "clientID": .string(clientID),
            "redirectURI": .string(redirectURI), "scopes": .array(scopes.map { .string($0) }),
            "grants": .array(grants.map { .string($0) }), "createdAt": .date(createdAt),
        ]
        record["secretExpiresAt"] = secretExpiresAt.map { .date($0) }
        record["clientAuthentication"] = clientAuthentication.map { .string($0) }
        record["managementURL"] = management.map { .string($0.url) }
        return record
    }

    var sealedSecrets: [SealedSecret] {
        (management.map { [SealedSecret(.accessToken, $0.token)] } ?? [])
            + (clientSecret.map { [SealedSecret(.clientSecret, $0)] } ?? [])
    }

    init(record: [String: ProfileValue], secrets: [SealedSecret]) throws(RecordPropertyList.Malformed) {
        guard try record.text("kind") == "registration", let issuer = try record.text("issuer"),
            let clientID = try record.text("clientID"), let redirectURI = try record.text("redirectURI"),
            let createdAt = try record.date("createdAt")
        else { throw RecordPropertyList.unusable }
        self.init(
            issuer: issuer, clientID: clientID, secretExpiresAt: try record.date("secretExpiresAt"),
            clientAuthentication: try record.text("clientAuthentication"), redirectURI: redirectURI,
            scopes: try record.texts("scopes") ?? [], grants: try record.texts("grants") ?? [],
            createdAt: createdAt)
        let managementURL = try record.text("managementURL")
        for sealed in secrets {
            switch sealed.tag {
            case .accessToken where management == nil:
                guard let managementURL else { throw RecordPropertyList.unusable }
                management = Management(url: managementURL, token: sealed.secret)
            case .clientSecret where clientSecret == nil: clientSecret = sealed.secret
            default: throw RecordPropertyList.unusable
            }
        }
    }
}
