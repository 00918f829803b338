/// The tokens of a session for requests to an API, which cannot end the session.
package struct RequestTokens: Sendable {
    package let session: SessionName

    /// Returns the account whose token to send, refreshed first if necessary.
    package let account: @Sendable () async throws(AccountError) -> Account

    /// Returns the account with another token after the API has refused the token of `account`; `nil` if no other token
    /// helps. Throws an error if the session has ended.
    package let replacement:
        @Sendable (_ account: Account, _ refusal: AuthorityError) async throws(AccountError) -> Account?

    /// Notes that the API has also refused a replacement, unless `refusal` is `nil` or does not concern the token.
    package let note: @Sendable (_ refusal: AuthorityError?, _ replacement: Account) -> Void
}
