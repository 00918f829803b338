import AccountKit
import AccountSupport

/// Asks the user on a terminal for everything that a sign-in needs. For each answer there is an option, and
/// ``equivalentCommand`` shows these options.
struct LoginConversation<App: AccountApplication> {
    let command: LoginCommand<App>
    let context: CommandContext<App>

    /// Whether the user can answer questions.
    static func isPossible(_ options: CommonOptions) -> Bool {
        App.acceptsIssuer && Terminal.canAsk && !options.json
    }

    /// A question, or nothing if the answer is known.
    ///
    /// - Returns: Whether it asked.
    private typealias Step = (inout Answers) async throws -> Bool

    /// Asks for everything that the options and the settings of the session do not contain, and signs in.
    ///
    /// - Parameter signIn: Signs in with the answers, or `nil` if it needs none. It may go back to the last question.
    func signIn(_ signIn: @escaping (Answers?) async throws -> Void) async throws {
        let remembered = try context.preferences.service(of: context.session)
        var answers = Answers()
        answers.clientID = command.issuer.clientID
        answers.expectedWay = command.givenWay
        guard let name = command.serviceName?.lowercased() else {
            return try await self.signIn(from: answers, isRemembered: remembered != nil, signIn)
        }
        let isSame = App.isSameService(remembered?.name, name)
        let isComplete = answers.clientID != nil || isSame && remembered?.clientID != nil
        guard !isComplete, let service = App.service(named: name) else { return try await signIn(nil) }
        (answers.serviceName, answers.needsClientID) = (service.name, true)
        let last: Step = { answers in
            // The options contain the service.
            answers.serviceName = nil
            self.sayCommand(answers)
            try await signIn(answers)
            return false
        }
        try await ask([way, issuer, client, last], &answers)
    }

    private func signIn(
        from given: Answers, isRemembered: Bool, _ signIn: @escaping (Answers?) async throws -> Void
    ) async throws {
        if isRemembered, command.choosesWay || given.clientID != nil { return try await signIn(nil) }
        let account = command.choosesWay ? nil : await context.archive.load().account
        if account == nil, isRemembered { return try await signIn(nil) }
        if let account {
            Terminal.say(
                .success,
                "You are signed in \(account.isNamedAfterAPI ? "to" : "as") \(bold: account.shownNameAndPlace) (session \(context.session))."
            )
        }
        let knowsService = isRemembered || account?.issuer != nil
        func isRepeated(_ answers: Answers) -> Bool { account != nil && answers.session == nil && knowsService }
        let service: Step = { answers in
            isRepeated(answers) ? false : try await self.service(of: &answers)
        }
        let way: Step = { answers in isRepeated(answers) ? false : try await self.way(of: &answers) }
        let last: Step = { answers in
            if !isRepeated(answers) {
                try self.nameIssuer(in: &answers)
                self.sayCommand(answers)
            } else if !isRemembered {
                answers.issuer = account?.issuer
                answers.clientID = answers.clientID ?? account?.credentials.clientID
            }
            try await signIn(answers)
            return false
        }
        var answers = given
        try await ask((account == nil ? [] : [session]) + [service, issuer, way, client, last], &answers)
    }

    private func sayCommand(_ answers: Answers) {
        Terminal.say("\nTo sign in without these questions, run:\n\n    \(equivalentCommand(answers))\n")
    }

    /// Asks the questions in order. The answer `b` goes back to the previous one.
    private func ask(_ steps: [Step], _ answers: inout Answers) async throws {
        var asked: [(step: Int, before: Answers)] = []
        var step = 0
        while step < steps.count {
            let before = answers
            do {
                guard try await steps[step](&answers) else {
                    step += 1
                    continue
                }
                if asked.isEmpty { Terminal.say("(To go back to the previous question, enter b.)") }
                asked.append((step, before))
                step += 1
            } catch let error as AccountError where error.cause is StepBack {
                if let last = asked.popLast() {
                    (step, answers) = last
                } else {
                    answers = before
                    Terminal.say(.failure, "This is the first question. Press Ctrl-C to cancel.")
                }
            }
        }
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
}

/// The cause of the error if the user asks for the previous question.
struct StepBack: Error {
    static let error = AccountError(.cancelled, "nothing was changed", cause: StepBack())
}
