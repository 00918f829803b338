extension AccountStore {
    /// The user of the current task's requests; `nil` if each request is for the signed-in user.
    @TaskLocal private static var requestUser: AccountOwner?

    /// Runs requests for the user of an offline key. Within `body`, a store throws `conflict` instead of returning a
    /// token of another user. The user is a task-local value, because an app's transport obtains the token itself.
    package static func withRequests<Value>(
        for key: OfflineKey, _ body: () async throws -> Value
    ) async rethrows -> Value {
        try await $requestUser.withValue(key.record.payload.owner, operation: body)
    }

    /// Runs requests that are for any user, such as a probe that a request of one user starts.
    package static func withRequestsForAnyUser<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        try await $requestUser.withValue(nil, operation: body)
    }

    static func checkRequestUser(is account: Account) throws(AccountError) {
        if let requestUser { try account.checkBelongs(to: requestUser) }
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
