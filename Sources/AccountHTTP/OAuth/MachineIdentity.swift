public import AccountKit

/// The identity of a program that signs in as itself, without a user (RFC 6749, section 4.4).
///
/// ```swift
/// let authority = try OAuthAuthority(
///     issuer: "https://login.example.com", machine: .client("nightly", secret: Secret(secret)), scopes: ["reports.read"])
/// try await store.signIn { try await authority.signInAsClient() }
/// let token = try await store.accessToken(with: authority)
/// ```
///
/// The session has no refresh token. When the access token expires, AccountKit requests another token, one process at a
/// time. The archive does not contain the client secret, so each process needs it.
///
/// No failure ends the session, not even `invalid_client`, because another process may have the right secret. The error
/// of the request says what the service rejected. The session ends with a sign-out, or with another sign-in.
///
/// The token has no user, so `AccountStore.checkSession` sends no request until the token expires.
public struct MachineIdentity: Sendable {
    let client: OAuthClient

    /// Returns a client with a secret, which AccountKit sends with the method in the options of the authority, or with
    /// `client_secret_basic` or `client_secret_post`, as the service supports (RFC 6749, section 2.3.1).
    public static func client(_ id: String, secret: Secret) -> MachineIdentity {
        MachineIdentity(client: OAuthClient(identifier: id, secret: secret))
    }

    #if Signatures
    /// Returns a client that authenticates with a key (RFC 7523, section 2.2). The service must know the public key.
    public static func client(_ id: String, key: ClientKey) -> MachineIdentity {
        var client = OAuthClient(identifier: id)
        client.key = key
        return MachineIdentity(client: client)
    }
    #endif

    /// Returns a program that its platform identifies, such as a CI job or a pod. The program needs no secret: AccountKit
    /// requests a new assertion from the platform for each token request (RFC 7523, RFC 8693).
    ///
    /// ```swift
    /// let authority = try OAuthAuthority(issuer: "https://login.example.com", machine: .workload(.gitHubActions))
    /// ```
    ///
    /// - Parameters:
    ///   - source: The source of the assertions. Their audience is the issuer.
    ///   - clientID: The client ID at the service. If `nil`, the id of the account is the `sub` of the assertion.
    ///   - grant: The grant of a sign-in. If `nil`, it is the first one that the metadata of the service lists.
    /// - Throws: `invalidArgument` if the source is not valid.
    public static func workload(
        _ source: WorkloadSource, clientID: String? = nil, grant: WorkloadGrant? = nil
    ) throws(AccountError) -> MachineIdentity {
        var client = OAuthClient(identifier: clientID)
        try client.identify(by: source, grant: grant)
        return MachineIdentity(client: client)
    }

    /// Returns whether an account belongs to this client.
    func isIdentity(of account: Account) -> Bool {
        guard let machine = account.credentials.machine else { return false }
        return client.identifier.map { account.id == $0 }
            ?? (machine.workload != nil && account.credentials.clientID == nil)
    }
}
