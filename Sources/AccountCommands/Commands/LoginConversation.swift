import AccountKit
import AccountSupport

/// Asks the user on a terminal for everything that a sign-in needs. For each answer there is an option, and
/// ``equivalentCommand`` shows these options.
struct LoginConversation<App: AccountApplication> {
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

        /// The service at the ``url``.
        var service: SignInService?

        /// The options that replace these answers.
        func options(withSession: Bool) -> [String] {
            var words = url.map { [$0] } ?? []
            if let session, withSession { words += ["--session", session.rawValue] }
            if let serviceName { words += ["--service", serviceName] }
            if let issuer = issuer ?? server { words += ["--issuer", issuer] }
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

    let context: CommandContext<App>

    /// Whether the user can answer questions.
    static func isPossible(_ options: CommonOptions) -> Bool {
        App.acceptsIssuer && Terminal.isTerminal(.input) && Terminal.isTerminal(.error) && !options.json
    }

    /// Asks for everything that the options of `command` and the settings of the session do not contain.
    ///
    /// - Returns: `nil` if all answers are known.
    func answers(beside command: LoginCommand<App>) async throws -> Answers? {
        var answers = Answers()
        let remembered = try context.preferences.service(of: context.session)
        if let name = command.serviceName?.lowercased() {
            let isSame = App.isSameService(remembered?.name, name)
            let isComplete = command.issuer.clientID != nil || isSame && remembered?.clientID != nil
            guard !isComplete, let service = App.service(named: name) else { return nil }
            if command.issuer.issuer == nil { try issuer(of: service, &answers) }
            try client(of: service, &answers)
            Terminal.say("\nTo sign in without this question, run:\n\n    \(equivalentCommand(answers))\n")
            return answers
        }
        let isRemembered = remembered != nil
        if isRemembered, command.choosesWay || command.issuer.clientID != nil { return nil }
        if !command.choosesWay, let account = await context.archive.load().account {
            answers.session = try await session(besides: account)
            if answers.session == nil, isRemembered { return nil }
            if answers.session == nil, let issuer = account.issuer {
                answers.issuer = issuer
                answers.clientID = command.issuer.clientID ?? account.credentials.clientID
                return answers
            }
        } else if isRemembered {
            return nil
        }
        let service = try await service(for: &answers, beside: command)
        if !command.choosesWay { answers.way = try way(to: service, isAtURL: answers.url != nil) }
        try nameIssuer(in: &answers, beside: command)
        Terminal.say("\nTo sign in without these questions, run:\n\n    \(equivalentCommand(answers))\n")
        return answers
    }

    // MARK: Questions

    /// Asks a signed-in user whether to sign in again or to use another session.
    ///
    /// - Returns: `nil` to sign in to the same service again.
    private func session(besides account: Account) async throws -> SessionName? {
        Terminal.say(
            .success,
            "You are signed in \(account.isNamedAfterAPI ? "to" : "as") \(bold: account.shownNameAndPlace) (session \(context.session))."
        )
        let choice = try choose(
            "What do you want to do?",
            ["Sign in to the same service again", "Sign in to another account, in a new session"])
        guard choice == 1 else { return nil }
        while true {
            let name = try answer(to: "Name of the new session, such as work: ")
            let session: SessionName
            do {
                session = try SessionName(name)
            } catch {
                Terminal.say(.failure, StyledText(error.userText))
                continue
            }
            if try await !context.sessions().contains(session) { return session }
            Terminal.say(.failure, "A session named \(session) already exists.")
        }
    }

    /// Asks for the service, and for the client ID if there is none.
    private func service(
        for answers: inout Answers, beside command: LoginCommand<App>
    ) async throws -> ServiceDescription? {
        let services = App.services
        Terminal.say("Where do you want to sign in?")
        for (index, service) in services.enumerated() { Terminal.say("  \(index + 1)  \(service.title)") }
        let question =
            switch (services.isEmpty, context.acceptsAPIs) {
            case (true, true): "URL of the API or service: "
            case (true, false): "URL of the service: "
            case (false, true): "Enter a number, or the URL of an API or another service: "
            case (false, false): "Enter a number, or the URL of another service: "
            }
        answers.clientID = command.issuer.clientID
        var chosen: ServiceDescription?
        while chosen == nil, answers.url == nil, answers.issuer == nil {
            let text = try answer(to: question)
            if let number = Int(text) {
                if number >= 1, number <= services.count {
                    chosen = services[number - 1]
                } else {
                    Terminal.say(.failure, "Enter a number from 1 to \(services.count), or a URL.")
                }
            } else if let named = App.service(named: text) {
                chosen = named
            } else {
                let url = text.firstRange(of: "://") == nil ? "https://" + text : text
                // A known service requires a registered client.
                chosen = knownService(at: url)
                if chosen == nil { try await findService(at: url, &answers, beside: command) }
            }
        }
        answers.serviceName = chosen?.name
        if let chosen { try issuer(of: chosen, &answers) }
        if answers.clientID == nil, answers.url == nil { try client(of: chosen, &answers) }
        return chosen
    }

    /// Finds the service at a URL, and asks for a client ID if the tool cannot register itself there. If there is no
    /// service, says so.
    private func findService(
        at url: String, _ answers: inout Answers, beside command: LoginCommand<App>
    ) async throws {
        do {
            guard context.acceptsAPIs else {
                let service = AccountService(issuer: url, clientID: "-")
                answers.issuer = try context.authority(for: service, timeout: .seconds(10)).issuer ?? url
                return
            }
            let service = AccountService(
                clientID: answers.clientID, scopes: command.request.scopes,
                usesDefaultScopes: command.request.defaultScopes, url: url,
                clientMetadataURL: command.issuer.clientMetadataURL)
            let api = try context.authority(for: service, timeout: .seconds(30))
            let chosen = try await command.choosingServer(of: api, expecting: nil, in: context)
            // Only the choice among several servers needs an option.
            let server = chosen.issuer
            let requiresClientID = try await chosen.requiresClientID()
            answers.url = url
            answers.server = server
            answers.service = try await chosen.signInService()
            guard requiresClientID, answers.clientID == nil else { return }
            if let page = try await chosen.serviceDocumentation() {
                Terminal.say(
                    nil,
                    """

                    \(chosen.issuer ?? url) requires a client ID. Its documentation may say where to register an app:

                        \(page)

                    """)
            }
            try client(of: nil, &answers)
        } catch let error as AccountError
            where [.misconfigured, .serviceUnavailable, .invalidArgument].contains(error.code) && answers.url == nil
        {
            Terminal.say(.failure, StyledText(error.userText))
        }
    }

    /// Lets the user name the service that receives a password or a token, because an API may name any service.
    private func nameIssuer(in answers: inout Answers, beside command: LoginCommand<App>) throws {
        let isToken = answers.way == .token || command.ways.withToken
        let isPassword = answers.way == .password || command.ways.usesPassword || command.username != nil
        guard isToken || isPassword, let service = answers.service, service.isNamedByAPIOnly else { return }
        // The user may have entered the URL of the service itself.
        if let url = answers.url, url != service.issuer, url != service.issuer + "/" {
            let what = isToken ? "token" : "password"
            try LoginCommand<App>.confirm(
                "\n\(service.apiPlace) names \(service.issuer). Send your \(what) there? [y/N] ", naming: service)
        }
        answers.issuer = service.issuer
    }

    /// - Returns: `nil` for the way that `login` chooses without an option.
    private func way(to service: ServiceDescription?, isAtURL: Bool) throws(AccountError) -> SignInWay? {
        var ways: [(way: SignInWay, text: String)] = []
        if service?.supportsBrowser != false { ways.append((.browser, "With the browser on this machine")) }
        ways.append((.device, "With a code that you enter on another device"))
        // An unknown service may accept passwords.
        if service == nil { ways.append((.password, "With a user name and a password")) }
        ways.append((.token, "With an access token that you have"))
        // If there is no browser, list the sign-in with a code first.
        if !ExternalProgram.hasBrowser, ways[0].way == .browser { ways.swapAt(0, 1) }
        let choice = try choose("How do you want to sign in?", ways.map(\.text))
        return isAtURL && choice == 0 ? nil : ways[choice].way
    }

    private func equivalentCommand(_ answers: Answers) -> String {
        let given = CommandLine.arguments.drop { $0 != "login" }.dropFirst().map(\.shellWord)
        let hint = answers.session.map { context.hint(for: $0) } ?? context.hint
        var words = given.isEmpty ? hint.command("login") : "\(context.tool) login " + given.joined(separator: " ")
        if answers.clientSecret != nil { words = "\(App.clientSecretVariable)=… " + words }
        var answers = answers
        if given.contains(where: { $0.hasPrefix("--client-id") }) { answers.clientID = nil }
        for option in answers.options(withSession: !given.isEmpty) { words += " " + option.shellWord }
        return answers.way == .token ? words + " < FILE" : words
    }

    // MARK: Answers

    /// Asks for the issuer of a service whose customers have one each.
    private func issuer(of service: ServiceDescription, _ answers: inout Answers) throws(AccountError) {
        guard service.needsIssuer else { return }
        let text = try answer(to: "Address of your \(service.title), such as \(service.issuer): ")
        answers.issuer = text.firstRange(of: "://") == nil ? "https://" + text : text
    }

    private func client(of service: ServiceDescription?, _ answers: inout Answers) throws(AccountError) {
        guard let service else {
            let text = try line("Client ID\(App.defaultClientID.map { " (leave empty for \($0))" } ?? ""): ")
            answers.clientID = text.isEmpty ? App.defaultClientID : text
            return
        }
        Terminal.say(
            "\n\(service.title) requires a client ID. Register an app at:\n\n    \(service.registrationPage)\n")
        if let advice = service.registrationAdvice {
            Terminal.say(nil, "\(advice) Then return here with the client ID.\n")
        }
        answers.clientID = try answer(to: "Client ID: ")
        if service.hasClientSecret { answers.clientSecret = try secret("Client secret from the same page: ") }
    }

    private func knownService(at url: String) -> ServiceDescription? {
        let service = AccountService(issuer: url, clientID: "-")
        // The URL of an API need not be valid for an issuer.
        let issuer = (try? context.authority(for: service, timeout: .seconds(10)))?.issuer
        return App.services.first { $0.issuer == issuer }
    }

    private func choose(_ question: String, _ choices: [String]) throws(AccountError) -> Int {
        guard choices.count > 1 else { return 0 }
        Terminal.say("\n" + question)
        for (index, choice) in choices.enumerated() { Terminal.say("  \(index + 1)  \(choice)") }
        while true {
            let text = try line("Enter a number (leave empty for 1): ")
            if text.isEmpty { return 0 }
            if let number = Int(text), number >= 1, number <= choices.count { return number - 1 }
            Terminal.say(.failure, "Enter a number from 1 to \(choices.count).")
        }
    }

    private func answer(to question: String) throws(AccountError) -> String {
        while true {
            let text = try line(question)
            if !text.isEmpty { return text }
            Terminal.say(.failure, "An answer is required. Press Ctrl-C to cancel.")
        }
    }

    /// - Throws: An error if standard input has ended.
    private func line(_ question: String) throws(AccountError) -> String {
        guard let text = try Terminal.answer(to: question) else {
            throw AccountError(.invalidArgument, "nothing was entered")
        }
        return text
    }

    private func secret(_ question: String) throws(AccountError) -> Secret {
        do {
            return try Terminal.promptForSecret(question).trimmed
        } catch {
            throw AccountError(wrapping: error)
        }
    }
}
