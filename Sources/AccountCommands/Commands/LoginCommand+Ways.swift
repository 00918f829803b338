import AccountKit
import AccountSupport
import ArgumentParser

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The ways to sign in.
extension LoginCommand {
    func signInOnDevice(
        _ store: AccountStore, _ authority: any ServiceAuthority, _ question: ReplacementQuestion<App>
    ) async throws -> Account {
        guard let authority = authority.deviceWay else {
            throw AccountError(
                .invalidArgument, "this service offers no sign-in on another device", hint: "omit --device")
        }
        var countdown: Countdown?
        defer { countdown?.stop() }
        return try await store.signIn(with: authority) { authorization in
            try await DevicePrompt.show(
                authorization, withQRCode: ways.qr, asJSON: options.json)
            let started = Countdown(from: authorization.lifetime)
            countdown = started
            question.beforeAsking { started?.stop() }
        }
    }

    /// Signs in with the browser. Falls back to a sign-in on another device, unless the user requested the browser.
    func signInWithBrowserOrDevice(
        _ store: AccountStore, _ authority: any ServiceAuthority, _ question: ReplacementQuestion<App>
    ) async throws -> Account {
        guard let browserAuthority = authority.browserWay else {
            throw AccountError(.invalidArgument, "this service offers no sign-in with a browser", hint: "omit --web")
        }
        var isShown = false
        var page: RedirectPage?
        var reminder: Task<Void, any Error>?
        var reader: Task<Void, Never>?
        let lines = TypedLines()
        defer {
            page?.remove()
            reminder?.cancel()
            reader?.cancel()
            lines.end()
        }
        do {
            return try await store.signIn(with: browserAuthority) { signIn in
                isShown = true
                if ways.paste { return try receivePasted(signIn, from: lines) }
                let url = signIn.url
                let acceptsPasted = Terminal.isTerminal(.input) && !options.json
                if acceptsPasted { lines.begin() }
                if options.json {
                    try BrowserPrompt.print(signIn)
                } else {
                    Terminal.say(
                        "Sign in with your browser. If the browser does not open automatically, open this address:\n\n    \(url)\n\n"
                            + (acceptsPasted ? Self.pasteText : "") + Self.openText(signIn)
                            + "Waiting up to \(signIn.lifetime.text); press Ctrl-C to cancel.")
                }
                if acceptsPasted { reader = Task { await Self.receiveLines(signIn, from: lines) } }
                if App.acceptsIssuer {
                    reminder = Task {
                        try await Task.sleep(for: .seconds(30))
                        Terminal.say(reminderText(for: authority))
                    }
                }
                question.beforeAsking { [reader, reminder] in
                    reader?.cancel()
                    reminder?.cancel()
                    lines.end()
                }
                let programs = ExternalProgram.browsers
                guard !programs.isEmpty else {
                    if let note = ExternalProgram.noBrowserText { Terminal.say(note) }
                    return
                }
                do {
                    if programs.contains(where: \.needsPage) { page = try await RedirectPage.write(to: url) }
                    await ExternalProgram.open(url, through: page, with: programs)
                } catch {
                    let others = programs.filter { !$0.needsPage }
                    guard others.isEmpty else {
                        return await ExternalProgram.open(url, through: nil, with: others)
                    }
                    Terminal.say("note: cannot open the browser automatically (\(error.userText)).")
                }
            }
        } catch {
            let isFinal = error.code != .misconfigured || isShown || ways.web || ways.paste
            guard !isFinal, authority.deviceWay != nil else { throw error }
            do {
                return try await signInOnDevice(store, authority, question)
            } catch let second as AccountError where authority.namingAPI != nil {
                // Report why the browser cannot be used. The second error only says that there is no other way to sign in.
                throw second.code == .misconfigured ? error : second
            }
        }
    }

    private func reminderText(for authority: any ServiceAuthority) -> String {
        let isRegistered = issuer.clientID == nil && authority.namingAPI != nil
        return isRegistered
            ? "Still waiting for the browser. If it shows an error, the service may no longer know the registration of "
                + "this tool: press Ctrl-C, and add --register to register it again."
            : "Still waiting for the browser. If it shows an error, press Ctrl-C, and check --client-id and "
                + "--redirect-uri: they must match the registration at the service exactly."
    }

    private static var pasteText: String {
        "If the browser is on another machine, paste the address of its last page here, even if that page shows an error.\n"
    }

    /// Says how long the page can be opened, if this is shorter than the sign-in waits.
    private static func openText(_ signIn: any BrowserSignIn) -> String {
        signIn.pageLifetime.map { "Open the address within \($0.text).\n" } ?? ""
    }

    /// Passes pasted addresses to a sign-in that waits for the browser, until the sign-in accepts one.
    private static func receiveLines(_ signIn: any BrowserSignIn, from lines: TypedLines) async {
        // At the end of the input, the sign-in still waits for the browser.
        defer { lines.end() }
        while !Task.isCancelled {
            let text: [String]
            do {
                guard let next = try await lines.next() else { return }
                text = next
            } catch let error as AccountError where error.code == .invalidArgument {
                Terminal.say("\(error)")
                continue
            } catch {
                return
            }
            // The user may press Enter to see whether the command still runs.
            guard text.contains(where: { !$0.trimmed.isEmpty }) else { continue }
            do {
                return try receive(text, for: signIn)
            } catch {
                Terminal.say(error.userText)
            }
        }
    }

    /// Passes the lines of a pasted text to a sign-in. A terminal or a messenger may have broken an address into several lines.
    static func receive(_ lines: [String], for signIn: any BrowserSignIn) throws(AccountError) {
        let lines = lines.map(\.trimmed).filter { !$0.isEmpty }
        let isBroken = lines.dropFirst().allSatisfy { $0.firstRange(of: "://") == nil && !$0.contains(" ") }
        var failure: AccountError?
        for text in (isBroken && lines.count > 1 ? [lines.joined()] : []) + lines {
            if !isBroken, let failure { Terminal.say(failure.userText) }
            do {
                return try signIn.receive(text)
            } catch {
                // The first error of a broken address is about all of it.
                failure = isBroken ? failure ?? error : error
            }
        }
        throw failure ?? AccountError(.invalidArgument, "no address was entered")
    }

    private func receivePasted(_ signIn: any BrowserSignIn, from lines: TypedLines) throws {
        let isTerminal = Terminal.isTerminal(.input)
        if isTerminal { lines.begin() }
        defer { lines.end() }
        if options.json {
            try BrowserPrompt.print(signIn)
        } else {
            Terminal.say(
                "Open this address in a browser on any machine:\n\n    \(signIn.url)\n\n"
                    + Self.openText(signIn)
                    + "After the sign-in, the browser goes to an address on its own machine, and may show an error. "
                    + "Copy that complete address, and paste it here. Press Ctrl-C to cancel.")
        }
        while true {
            let limit = signIn.lifetime
            let next = isTerminal ? try lines.next(within: limit) : try Terminal.readLine(within: limit).map { [$0] }
            guard let text = next else { throw AccountError(.invalidArgument, "no address was entered") }
            do {
                return try Self.receive(text, for: signIn)
            } catch {
                guard isTerminal else { throw error }
                Terminal.say(error.userText)
            }
        }
    }

    func signInWithToken(
        _ store: AccountStore, _ authority: any ServiceAuthority, _ hint: CommandHint, asks: Bool
    ) async throws -> Account {
        guard let authority = authority.tokenWay else {
            throw AccountError(
                .invalidArgument, "this service cannot identify the user of a token", hint: "omit --with-token")
        }
        if asks {
            return try await store.signIn(with: authority) {
                try LoginConversation<App>.secret("Access token: ").trimmed
            }
        }
        if Terminal.isTerminal(.input) {
            throw AccountError(
                .invalidArgument,
                "--with-token reads the token from standard input, which is a terminal here",
                hint: tokenAdvice(hint))
        }
        return try await store.signIn(with: authority) {
            guard let token = try Terminal.readSecretLine(of: .token) else {
                throw AccountError(
                    .invalidArgument, "no token on standard input: it is empty", hint: tokenAdvice(hint))
            }
            return token
        }
    }

    /// Says how to pass a token, with the service in the options.
    func tokenAdvice(_ hint: CommandHint) -> String {
        let options = [
            serviceName.map { "--service \($0.shellWord)" }, issuer.issuer.map { "--issuer \($0.shellWord)" },
            "--with-token < FILE",
        ]
        let command = hint.command(
            "login" + (url.map { " \($0.shellWord)" } ?? ""), options.compactMap(\.self).joined(separator: " "))
        return "use `\(command)`, or pipe the token from your password manager"
    }

    func signInWithPassword(
        _ store: AccountStore, _ authority: any ServiceAuthority, goesBack: Bool
    ) async throws -> Account {
        guard let authority = authority.passwordWay else {
            throw AccountError(.invalidArgument, "this service does not accept passwords", hint: "omit --password")
        }
        let canPrompt = Terminal.isTerminal(.input)
        guard canPrompt || ways.passwordStdin && username != nil else {
            let missing = [ways.passwordStdin ? nil : "--password-stdin", username == nil ? "--username NAME" : nil]
            throw AccountError(
                .invalidArgument, "there is no terminal for a prompt",
                hint: "add " + missing.compactMap(\.self).joined(separator: " and "))
        }
        var attempt = 1
        while true {
            do {
                // Prompt inside the sign-in: if it fails before it needs the password, the user is not asked for one.
                return try await store.signIn(with: authority) { try enteredPassword(goesBack: goesBack) }
            } catch {
                guard error.isWrongPassword, !ways.passwordStdin, attempt < Self.passwordAttempts else { throw error }
                Terminal.say(.failure, "Wrong user name or password (attempt \(attempt) of \(Self.passwordAttempts)).")
                attempt += 1
            }
        }
    }

    private static var passwordAttempts: Int { 3 }

    private func enteredPassword(goesBack: Bool) throws -> (username: String, password: Secret) {
        let username = try username ?? Terminal.prompt("User name: ")
        if goesBack, self.username == nil, username == "b" { throw StepBack.error }
        guard ways.passwordStdin else {
            let ask = goesBack ? LoginConversation<App>.secret : Terminal.promptForSecret
            return (username, try ask("Password for \(username): "))
        }
        guard let password = try Terminal.readSecretLine(of: .password) else {
            throw AccountError(.invalidArgument, "no password on standard input: the first line is empty")
        }
        return (username, password)
    }
}

extension AccountError {
    /// Whether the service refused the user name or the password.
    fileprivate var isWrongPassword: Bool {
        switch requestFailure?.failureOfRequest {
        case .oauthError("invalid_grant", _)?, .unauthorized?: code == .signInRefused
        default: false
        }
    }
}
