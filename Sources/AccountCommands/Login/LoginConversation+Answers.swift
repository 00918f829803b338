import AccountKit

extension LoginConversation {
    /// The answers of the user.
    struct Answers {
        /// The new session to sign in to; `nil` for the session of the command.
        var session: SessionName?
        var serviceName: String?

        /// The URL of an API or of an authorization server.
        var url: String?
        var issuer: String?

        /// The authorization server that the user chose among those that the API names.
        var server: String?
        var clientID: String?
        var clientSecret: Secret?
        var way: SignInWay?

        /// The way that the client of the user must support, also if ``way`` is `nil` because it needs no option.
        var expectedWay: SignInWay?

        /// The service at the ``url``.
        var service: SignInService?

        /// Whether the sign-in needs the ID of a client that the user registered, or the default client ID.
        var needsClientID = false

        /// Where the service at the ``url`` may describe how to register a client.
        var documentation: String?

        /// At a URL, `login` chooses the first way without an option.
        mutating func choose(_ chosen: SignInWay, isFirst: Bool) {
            way = url != nil && isFirst ? nil : chosen
            expectedWay = chosen
        }

        /// The options that replace these answers.
        func options(withSession: Bool) -> [String] {
            var words = url.map { [$0] } ?? []
            if let session, withSession { words += ["--session", session.rawValue] }
            if let serviceName { words += ["--service", serviceName] }
            if let issuer = issuer ?? server, issuer.withoutEndingSlash != url?.withoutEndingSlash {
                words += ["--issuer", issuer]
            }
            if let clientID { words += ["--client-id", clientID] }
            switch way {
            case .device?: words.append("--device")
            case .browser?: words.append("--web")
            case .password?: words.append("--password")
            case .token?: words.append("--with-token")
            case .client?, nil: break
            }
            return words
        }
    }
}
