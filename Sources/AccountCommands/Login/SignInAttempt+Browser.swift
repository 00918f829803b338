import AccountKit
import AccountSupport

/// The sign-in with a browser on this machine or another one.
extension SignInAttempt {
    /// Signs in with the browser. Falls back to a sign-in on another device, unless the user requested the browser.
    func withBrowserOrDevice() async throws -> Account {
        guard let authority = plan.authority.browserWay else {
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
            return try await store.signIn(with: authority) { signIn in
                isShown = true
                if command.ways.paste { return try receivePasted(signIn, from: lines) }
                let url = signIn.url
                let acceptsPasted = Terminal.isTerminal(.input) && !context.options.json
                if acceptsPasted { lines.begin() }
                if context.options.json {
                    try BrowserPrompt.print(signIn)
                } else {
                    Terminal.say(
                        "Sign in with your browser. If the browser does not open automatically, open this address:\n\n    \(url)\n\n"
                            + (acceptsPasted ? Self.pasteText : "") + Self.openText(signIn)
                            + "Waiting up to \(signIn.lifetime.text); press Ctrl-C to cancel.")
                }
                if acceptsPasted { reader = Task { await Self.receiveLines(signIn, from: lines) } }
                if App.acceptsIssuer {
                    let text = reminderText
                    reminder = Task {
                        try await Task.sleep(for: .seconds(30))
                        Terminal.say(text)
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
            let isFinal = error.code != .misconfigured || isShown || command.ways.web || command.ways.paste
            guard !isFinal, plan.authority.deviceWay != nil else { throw error }
            do {
                return try await onDevice()
            } catch let second as AccountError where plan.authority.namingAPI != nil {
                // Report why the browser cannot be used. The second error only says that there is no other way to sign in.
                throw second.code == .misconfigured ? error : second
            }
        }
    }

    private var reminderText: String {
        let isRegistered = command.issuer.clientID == nil && plan.authority.namingAPI != nil
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
        if context.options.json {
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
}
