import AccountKit

/// Where and how to sign in, before the first request of the sign-in.
struct SignInPlan {
    var service: AccountService
    let authority: any ServiceAuthority
    let way: SignInWay

    /// Whether to ask for the token, because the user chose this way in the conversation.
    let asksForToken: Bool

    /// Whether the answer `b` goes back to the previous question of the conversation.
    let goesBack: Bool

    /// Whether the options or the account request a sign-in without a user.
    let isMachine: Bool

    let isWorkload: Bool

    /// The account whose permissions the sign-in extends.
    let extended: Account?

    /// Says at which service the user signs in if it is on another server than the API. On a terminal, asks whether this is
    /// right if only the API names the service, and their hosts have nothing in common. A service that AccountKit knows makes
    /// no difference: its token would be sent to this API. The question is asked once for this URL and service.
    func confirmService(in context: CommandContext<some AccountApplication>) async throws {
        guard [.browser, .device].contains(way), let named = try await authority.signInService(),
            named.place != named.apiPlace
        else { return }
        Terminal.say("\(named.apiPlace) uses \(named.place) to sign you in.")
        guard !named.isGiven, !named.isNearAPI, context.canAsk else { return }
        let earlier = context.readableService(of: context.session)
        guard earlier?.url != service.url || earlier?.issuer != named.issuer else { return }
        try named.confirm("Do you want to sign in at \(named.place)? [y/N] ")
    }

    /// Returns the URLs of the APIs that the user signed in for. The metadata of an API may name a larger resource, such as
    /// its whole server.
    func apis(of account: Account) -> [String] {
        guard let url = authority.namingAPI, !account.credentials.resources.isEmpty else { return [] }
        if let problem = authority.audienceProblem(of: account.credentials) {
            Terminal.say("note: no rule was created, so other programs get no token there: \(problem)")
            return service.resources
        }
        return [url] + service.resources
    }
}

extension SignInService {
    /// Asks a question about this service, and throws an error unless the answer is yes.
    func confirm(_ question: String) throws(AccountError) {
        guard try Terminal.confirms(question) else {
            throw AccountError(
                .cancelled, "nothing was sent to \(place), and nothing was changed",
                hint: "to choose another service of the API, add --issuer URL")
        }
    }
}

extension CommandContext {
    /// Whether the user can answer the questions of a sign-in.
    var canAsk: Bool { LoginConversation<App>.isPossible(options) }
}
