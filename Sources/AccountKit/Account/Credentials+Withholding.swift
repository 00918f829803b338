import AccountSupport

extension Credentials {
    /// Why AccountKit returns the tokens to no program; `nil` if it returns them.
    package var withholdingReason: UnverifiedReason? {
        if isOfOtherUser { return .otherUser }
        guard hasWrongType else { return nil }
        return UnverifiedReason(wrongTypeOf: self, in: self)
    }

    /// Returns whether only a refresh can bring a usable access token.
    func needsToken(at date: Date) -> Bool { hasWrongType || isExpired(at: date) }
}

extension UnverifiedReason {
    fileprivate static let otherUser = UnverifiedReason(
        .wrongAccount, detail: "no program gets the token until the service confirms the account")

    /// Returns why no program gets the access token in the response to a refresh of a session; `nil` if programs get it.
    init?(flawOf response: Credentials, in session: Credentials) {
        if response.lacksAccessToken {
            self.init(
                .unclearReply,
                detail:
                    "the response contained a new refresh token, but no access token that can be read; the next use requests "
                    + "another one")
        } else if response.isOfOtherUser {
            self = .otherUser
        } else if session.hasWrongType(in: response) {
            self.init(wrongTypeOf: response, in: session)
        } else {
            return nil
        }
    }

    /// The service issued a token of the wrong type for a session.
    init(wrongTypeOf response: Credentials, in session: Credentials) {
        self.init(
            .unclearReply,
            detail: session.flawOfType(in: response)
                + "; no program gets the token, and the next use requests another one")
    }
}
