import AccountKit
import AccountSupport
import Logging

/// The questions. Each returns whether it asked.
extension LoginConversation {
    /// Asks a signed-in user whether to sign in to the same service again or to use another session.
    func session(of answers: inout Answers) async throws -> Bool {
        let choice = try choose(
            "What do you want to do?",
            ["Sign in to the same service again", "Sign in to another account, in a new session"])
        guard choice == 1 else { return true }
        while true {
            let name = try answer(to: "Name of the new session, such as work: ")
            let session: SessionName
            do {
                session = try SessionName(name)
            } catch {
                Terminal.say(.failure, StyledText(error.userText))
                continue
            }
            if try await !context.sessions().contains(session) {
                answers.session = session
                return true
            }
            Terminal.say(.failure, "A session named \(session) already exists.")
        }
    }

    /// Asks for the service.
    func service(of answers: inout Answers) async throws -> Bool {
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
        while answers.serviceName == nil, answers.url == nil, answers.issuer == nil {
            let text = try answer(to: question)
            if let number = Int(text) {
                if number >= 1, number <= services.count {
                    answers.serviceName = services[number - 1].name
                } else {
                    Terminal.say(.failure, "Enter a number from 1 to \(services.count), or a URL.")
                }
            } else if let named = App.service(named: text) {
                answers.serviceName = named.name
            } else {
                let url = text.firstRange(of: "://") == nil ? "https://" + text : text
                // A known service requires a registered client.
                answers.serviceName = knownService(at: url)?.name
                if answers.serviceName == nil { try await findService(at: url, &answers) }
            }
        }
        if answers.url == nil { answers.needsClientID = true }
        return true
    }

    /// Finds the service at a URL, and whether the tool needs a client ID there. If there is no service, says so.
    private func findService(at url: String, _ answers: inout Answers) async throws {
        do {
            guard context.acceptsAPIs else {
                let service = AccountService(issuer: url, clientID: "-")
                answers.issuer = try context.authority(for: service, timeout: .seconds(10)).issuer ?? url
                return
            }
            var service = AccountService(clientID: answers.clientID, url: url)
            service.scopes = command.request.scopes
            service.usesDefaultScopes = command.request.defaultScopes ?? service.scopes.isEmpty
            service.clientMetadataURL = command.authorization.clientMetadataURL
            let api = try context.authority(for: service, timeout: .seconds(30))
            let chosen = try await SignInPlanner(command: command, context: context, answers: nil)
                .choosingServer(of: api)
            // Only the choice among several servers needs an option.
            let server = chosen.issuer
            let requiresClientID = try await chosen.requiresClientID()
            answers.url = url
            answers.server = server
            answers.service = try await chosen.signInService()
            answers.needsClientID = requiresClientID
            if requiresClientID { answers.documentation = try await chosen.serviceDocumentation() }
        } catch let error as AccountError
            where [.misconfigured, .serviceUnavailable, .invalidArgument].contains(error.code) && answers.url == nil
        {
            Terminal.say(.failure, StyledText(error.userText))
        }
    }

    /// Lets the user name the service that receives a password or a token, because an API may name any service.
    func nameIssuer(in answers: inout Answers) throws {
        let isToken = answers.way == .token || command.ways.withToken
        let isPassword = answers.way == .password || command.ways.usesPassword || command.username != nil
        guard isToken || isPassword, let service = answers.service, service.isNamedByAPIOnly else { return }
        // The user may have entered the URL of the service itself.
        if let url = answers.url, url != service.issuer, url != service.issuer + "/" {
            let what = isToken ? "token" : "password"
            try service.confirm("\n\(service.apiPlace) names \(service.issuer). Send your \(what) there? [y/N] ")
        }
        answers.issuer = service.issuer
    }

    /// Asks how to sign in, unless an option says it. A token needs no client, so this question comes before that for the
    /// client ID.
    func way(of answers: inout Answers) async throws -> Bool {
        guard !command.choosesWay else { return false }
        let service = App.service(named: answers.serviceName)
        var ways: [(way: SignInWay, text: String)] = []
        if service?.supportsBrowser != false { ways.append((.browser, "With the browser on this machine")) }
        ways.append((.device, "With a code that you enter on another device"))
        // An unknown service may accept passwords.
        if service == nil { ways.append((.password, "With a user name and a password")) }
        ways.append(
            (.token, service == nil ? "With an access token that you have" : "With a personal access token"))
        if service != nil, answers.clientID == nil {
            for index in ways.indices where ways[index].way != .token {
                ways[index].text += " (requires a client ID)"
            }
        }
        // If there is no browser, list the sign-in with a code first.
        if !ExternalProgram.hasBrowser, ways[0].way == .browser { ways.swapAt(0, 1) }
        let choice = try choose("How do you want to sign in?", ways.map(\.text))
        answers.choose(ways[choice].way, isFirst: choice == 0)
        return true
    }

    // MARK: Answers

    /// Asks for the issuer of a service whose customers have one each.
    func issuer(of answers: inout Answers) async throws -> Bool {
        guard let service = App.service(named: answers.serviceName), service.needsIssuer else { return false }
        let text = try answer(to: "Address of your \(service.title), such as \(service.issuer): ")
        answers.issuer = text.firstRange(of: "://") == nil ? "https://" + text : text
        return true
    }

    /// Asks for the client ID if the sign-in needs one.
    func client(of answers: inout Answers) async throws -> Bool {
        guard answers.needsClientID, answers.clientID == nil, answers.way != .token else { return false }
        guard let service = App.service(named: answers.serviceName) else {
            sayHowToRegister(answers)
            let text = try line("Client ID\(App.defaultClientID.map { " (leave empty for \($0))" } ?? ""): ")
            answers.clientID = text.isEmpty ? App.defaultClientID : text
            return true
        }
        Terminal.say(
            "\n\(service.title) requires a client ID. Register an app at:\n\n    \(service.registrationPage)\n")
        if let advice = service.registrationAdvice {
            Terminal.say(nil, "\(advice) Then return here with the client ID.\n")
        }
        answers.clientID = try answer(to: "Client ID: ")
        if service.hasClientSecret {
            answers.clientSecret = try Self.secret("Client secret from the same page: ").trimmed
        }
        return true
    }

    /// Says where to register a client at a service that this tool does not know, and what to enable for it.
    private func sayHowToRegister(_ answers: Answers) {
        let place = answers.server ?? answers.issuer ?? answers.url ?? "the service"
        let grant = Self.grant(for: answers.expectedWay)
        Terminal.say(nil, StyledText(Self.registrationText(at: place.shown, enabling: grant)))
        guard let page = answers.documentation else { return Terminal.say("") }
        Terminal.say(nil, "Its documentation may say where to register an app:\n\n    \(page)\n")
    }

    /// With a default client ID, the user need not register a client.
    static func registrationText(at place: String, enabling grant: String) -> String {
        App.defaultClientID == nil
            ? "\n\(place) requires a client ID.\nRegister a public client there, and enable \(grant)."
            : "\nIf you registered a public client at \(place), enter its client ID, and enable \(grant) there."
    }

    static func grant(for way: SignInWay?) -> String {
        switch way {
        case .device?: "the device authorization grant"
        case .password?: "the password grant"
        default: "the authorization code grant, with the redirect URI http://127.0.0.1/callback and any port"
        }
    }

    private func knownService(at url: String) -> ServiceDescription? {
        let service = AccountService(issuer: url, clientID: "-")
        do {
            let issuer = try context.authority(for: service, timeout: .seconds(10)).issuer
            return App.services.first { $0.issuer == issuer }
        } catch {
            // The URL of an API need not be valid for an issuer.
            context.logger?.debug("the URL is not that of a known service", metadata: ["error": "\(error)"])
            return nil
        }
    }

    private func choose(_ question: String, _ choices: [String]) throws -> Int {
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

    private func answer(to question: String) throws -> String {
        while true {
            let text = try line(question)
            if !text.isEmpty { return text }
            Terminal.say(.failure, "An answer is required. Press Ctrl-C to cancel.")
        }
    }

    /// - Throws: An error with the cause ``StepBack``, or another error if standard input has ended.
    private func line(_ question: String) throws -> String {
        guard let text = try Terminal.answer(to: question) else {
            throw AccountError(.invalidArgument, "nothing was entered")
        }
        if text == "b" { throw StepBack.error }
        return text
    }

    /// Asks for a token or a password, which is never `b`.
    ///
    /// - Throws: An error with the cause ``StepBack``, or another error if nothing was entered.
    static func secret(_ question: String) throws -> Secret {
        let secret = try Terminal.promptForSecret(question)
        if secret == Secret("b") { throw StepBack.error }
        return secret
    }
}
