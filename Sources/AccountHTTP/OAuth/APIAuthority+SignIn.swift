public import AccountKit

extension APIAuthority {
    package var passwordWay: (any PasswordAuthority)? { self }
    package var tokenWay: (any TokenAuthority)? { self }
    package var deviceWay: (any DeviceAuthority)? { self }
    package var browserWay: (any BrowserAuthority)? { self }
    package var clientWay: (any ServiceAuthority)? { self }
}

extension APIAuthority: BrowserAuthority {
    /// Asks the API for its authorization server, registers the app if necessary, and prepares a sign-in.
    public func beginBrowserSignIn() async throws -> any BrowserSignIn {
        try await authority(receiving: nil).beginBrowserSignIn()
    }
}

extension APIAuthority: DeviceAuthority {
    /// Asks the API for its authorization server, registers the app if necessary, and requests a code.
    public func beginDeviceSignIn() async throws -> DeviceAuthorization {
        try await authority(receiving: nil).beginDeviceSignIn()
    }

    /// Asks once whether the user has entered the code.
    public func pollDeviceSignIn(_ authorization: DeviceAuthorization) async throws -> Credentials {
        try await signInAuthority().pollDeviceSignIn(authorization)
    }

    /// Finds the user of the tokens.
    public func account(with credentials: Credentials) async throws -> Account {
        try await signInAuthority().account(with: credentials)
    }
}

extension APIAuthority: PasswordAuthority {
    /// Asks the API for its authorization server, registers the app if necessary, and signs in with a user name and a
    /// password, for your own services.
    public func signIn(username: String, password: Secret) async throws -> Account {
        try await authority(receiving: .password).signIn(username: username, password: password)
    }
}

extension APIAuthority {
    package func preparePasswordSignIn() async throws {
        try await authority(receiving: .password).preparePasswordSignIn()
    }
}

extension APIAuthority {
    package func signInAsClient() async throws -> Account { try await authority(receiving: nil).signInAsClient() }

    package func assertionProblem(for account: Account, isQuick: Bool) async -> AuthorityError? {
        do throws(AuthorityError) {
            return try await authority(of: account).assertionProblem(for: account, isQuick: isQuick)
        } catch {
            return error
        }
    }
}

extension APIAuthority: TokenAuthority {
    /// Signs in with an existing token. If user info does not identify its user, the API must accept the token.
    public func signIn(token: Secret) async throws -> Account {
        try await authority(receiving: .token).signIn(token: token)
    }
}
