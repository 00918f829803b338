import AccountKit
import AccountSupport

/// A credential that the app or the user supplies for a sign-in. An issuer that only an API names does not receive it.
enum SuppliedCredential: String, Sendable {
    case clientSecret = "the client secret"
    case clientKey = "an assertion of the client key"
    case assertion = "the assertion of the workload"
    case password = "the password"
    case token = "the token"
}

extension OAuthClient {
    /// The credential with which this client authenticates; `nil` for a client without one. The secret of a registration
    /// does not count, because its issuer issued it.
    var supplied: SuppliedCredential? {
        if workload != nil { return .assertion }
        guard identifier != nil else { return nil }
        if assertion != nil { return .clientKey }
        return secret == nil ? nil : .clientSecret
    }
}

extension APIServices {
    /// Returns the service for a sign-in.
    ///
    /// - Parameter supplied: The credential of the user that the sign-in sends, in addition to that of the client.
    /// - Throws: An `AccountError` with the code `misconfigured` if the issuer must not receive a credential of the
    ///   sign-in; otherwise an `AuthorityError`.
    func service(receiving supplied: SuppliedCredential?) async throws -> OAuthService {
        let service = try await signInService()
        try check(service, mayReceive: supplied ?? settings.client.supplied)
        return service
    }

    /// Throws an error if only the API names a service that would receive a credential.
    func check(_ service: OAuthService, mayReceive supplied: SuppliedCredential?) throws(AccountError) {
        guard let supplied, service.connection.isNamedByAPIOnly else { return }
        let issuer = service.connection.name
        throw AccountError(
            .misconfigured,
            "\(supplied.rawValue) is sent only to a service that you name, and only \(url) names \(issuer)",
            hint: "if you trust \(issuer), name it (on a command line, with --issuer \(issuer))")
    }
}

extension ServiceURL {
    /// Whether two hosts are equal, or one is a subdomain of the other.
    func isNear(_ other: ServiceURL) -> Bool {
        host == other.host || host.hasSuffix("." + other.host) || other.host.hasSuffix("." + host)
    }
}
