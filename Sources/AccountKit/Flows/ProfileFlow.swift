/// Changing the stored account.
extension Flows {
    func update(
        _ change: @escaping @Sendable (inout Account) throws(AccountError) -> Void
    ) async throws(AccountError) -> Account {
        try await vault.change { draft in
            switch await draft.read() {
            case .present(var account, let revision):
                try change(&account)
                return try await draft.save(account, ifRevision: revision)
            case .absent:
                throw AccountError(
                    .notSignedIn, "you are not signed in, so no account can be changed", hint: "sign in first")
            case .unreadable(let error): throw error
            }
        }
    }

    func sendProfile(
        to authority: any AccountAuthority, _ change: (inout UserProfile) -> Void
    ) async throws(AccountError) -> Account {
        try refuseGivenToken()
        // An account of this service, whose tokens belong to the user and are valid.
        var account = try await usableAccount(minimumValidity: nil, timeout: .seconds(10), with: authority)
        // The refresh of a token that is still valid may continue after a cancellation.
        if Task.isCancelled { throw AccountError(.cancelled, "the profile was not sent") }
        let before = account.profile
        change(&account.profile)
        let identity: Identity
        do {
            do {
                identity = try await authority.updateProfile(of: account)
            } catch AuthorityError.unauthorized {
                guard let renewed = try await self.account(insteadOf: account, timeout: .seconds(10), with: authority)
                else {
                    throw AuthorityError.unauthorized(error: nil)
                }
                account.credentials = renewed.credentials
                identity = try await authority.updateProfile(of: account)
            }
        } catch let error as AccountError {
            throw error
        } catch {
            throw Self.refusal(of: AuthorityError(error))
        }
        let changed = account
        return try await update { stored throws(AccountError) in
            guard stored.isSameUser(as: changed), identity.id == stored.id else {
                throw AccountError(.conflict, "another user has signed in: the profile here was not changed")
            }
            // Store only the changed fields, since another process may have changed other fields.
            stored.profile.apply(changed.profile, since: before)
            stored.profile.merge(identity.profile)
            stored.username = identity.username ?? stored.username
        }
    }

    /// The error of a change that the service did not make. A refusal is not worth repeating.
    private static func refusal(of failure: AuthorityError) -> AccountError {
        let message = "the profile could not be changed at the service, so it was not changed here"
        return switch failure {
        case .misconfigured: AccountError(.misconfigured, message, cause: failure)
        case .refused, .forbidden, .rejected, .signInRefused, .unauthorized:
            AccountError(.requestRefused, message, cause: failure)
        default: AccountError(.serviceUnavailable, message, hint: "try again", cause: failure)
        }
    }
}
