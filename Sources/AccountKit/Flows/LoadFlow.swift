/// Reading the account in memory or in the archive.
extension Flows {
    func load() async -> SessionState {
        if let givenToken { return load(givenToken) }
        return await vault.read().state
    }

    func loadedAccount() async throws(AccountError) -> Account {
        switch await load() {
        case .verified(let account), .unverified(let account, _): return account
        case .signedOut(let signOut): throw notSignedIn(signOut)
        case .unreadable(let error): throw error
        }
    }

    func loadedAccount(of authority: any AccountAuthority) async throws(AccountError) -> Account {
        let account = try await loadedAccount()
        try RequestUser.check(is: account)
        try check(account, isOf: authority)
        return account
    }

    func check(_ account: Account, isOf authority: any AccountAuthority) throws(AccountError) {
        // The issuer of a token from the environment may be unknown.
        if givenToken != nil, account.issuer == nil { return }
        if let mismatch = authority.mismatch(with: account) { throw AccountError(.misconfigured, mismatch) }
    }

    func notSignedIn(_ signOut: SignOut) -> AccountError {
        givenToken?.rejection(signOut) ?? AccountError(notSignedIn: signOut)
    }
}

/// The user of the current task's requests.
enum RequestUser {
    /// The user; `nil` if each request is for the signed-in user. The user is a task-local value, because an app's
    /// transport obtains the token itself.
    @TaskLocal static var current: AccountOwner?

    static func check(is account: Account) throws(AccountError) {
        if let current { try account.checkBelongs(to: current) }
    }
}

extension Account {
    func checkIsSameUser(as user: Account) throws(AccountError) { try checkBelongs(to: user.owner) }

    fileprivate func checkBelongs(to user: AccountOwner) throws(AccountError) {
        guard owner == user else {
            throw AccountError(
                .conflict, "another user has signed in since this began: nothing was sent with that user's token")
        }
    }
}
