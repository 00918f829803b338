extension Account {
    /// Returns whether a service that revokes the tokens of `other` also ends the session of this account. If
    /// the service has not identified one of the users, assume that both are the same user.
    func isEnded(byRevoking other: Account, supportsPerGrantRevocation: Bool) -> Bool {
        // Without user info, a user name may be the ID.
        let isSameUser = id == other.id || id == other.username || username == other.id
        guard issuer == other.issuer, isUnidentified || other.isUnidentified || isSameUser else { return false }
        if let token = credentials.refreshToken, token == other.credentials.refreshToken { return true }
        if credentials.accessToken == other.credentials.accessToken { return true }
        return credentials.clientID == other.credentials.clientID && !supportsPerGrantRevocation
    }
}
