extension AccountAuthority {
    /// This authority, with everything that the commands and the store need.
    package var serviceAuthority: any ServiceAuthority {
        self as? any ServiceAuthority ?? PlainService(authority: self)
    }
}

/// The authority of an app's own login. The protocols that it adopts determine the ways to sign in.
private struct PlainService: ServiceAuthority {
    let authority: any AccountAuthority

    var passwordWay: (any PasswordAuthority)? { authority as? any PasswordAuthority }
    var tokenWay: (any TokenAuthority)? { authority as? any TokenAuthority }
    var deviceWay: (any DeviceAuthority)? { authority as? any DeviceAuthority }
    var browserWay: (any BrowserAuthority)? { authority as? any BrowserAuthority }

    func verify(_ account: Account) async throws -> Identity { try await authority.verify(account) }
    func refresh(_ account: Account) async throws -> Credentials { try await authority.refresh(account) }
    func revoke(_ account: Account) async throws -> RevocationOutcome { try await authority.revoke(account) }
    func updateProfile(of account: Account) async throws -> Identity { try await authority.updateProfile(of: account) }
    func isAuthority(of account: Account) -> Bool { authority.isAuthority(of: account) }
    var supportsPerGrantRevocation: Bool { authority.supportsPerGrantRevocation }
    var tokenRequestTimeout: Duration { authority.tokenRequestTimeout }
    var issuer: String? { authority.issuer }
}
