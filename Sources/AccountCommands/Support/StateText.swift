package import AccountKit
package import AccountSupport

package enum StateText {
    /// Prints an explanation of a state on standard error; nothing for a verified account.
    static func explain(_ state: SessionState, _ hint: CommandHint) {
        switch state {
        case .verified: break
        case .unverified(let account, let reason):
            Terminal.say(.warning, StyledText(explanation(of: reason, account, hint)))
        case .signedOut(let signOut): Terminal.say(error(of: signOut, hint))
        case .unreadable(var error):
            error.nameSignIn(command: hint.command("login"), orReplaceTokenIn: nil)
            Terminal.say(error)
        }
    }

    private static func explanation(
        of reason: UnverifiedReason, _ account: Account, _ hint: CommandHint
    ) -> String {
        let service = account.issuer ?? "the service"
        if reason.code == .renewalRefused { return noRenewal(of: account, reason, hint) }
        // Name the host once: the detail already contains it with its port.
        if reason.code == .offline, let detail = reason.detail, detail.contains(service.hostAndPort) {
            return keptText("offline: \(detail)", account)
        }
        let cause =
            switch reason.code {
            case .notChecked: "the command did not ask \(service)"
            case .offline: "offline: \(service) cannot be reached"
            case .awaitingResponse:
                "\(service) has not responded yet; AccountKit stores the new tokens when they arrive"
            case .cancelled: "the check was cancelled"
            case .serverError: "\(service) returned a server error"
            case .rateLimited: "the rate limit of \(service) is reached"
            case .unclearReply: "\(service) returned an unexpected response"
            case .captivePortal: "another server, such as a captive portal, responded instead of \(service)"
            case .untrustedTLS: "the connection to \(service) is not secure"
            case .proxyAuthenticationRequired: "a proxy requires a user name and password"
            case .misconfigured: "\(service) is not set up for this request"
            case .insufficientScope: "the token does not have permission to identify the user"
            case .wrongAccount: "\(service) reports that the token belongs to another user"
            case .replacedMeanwhile: "another process has just replaced the tokens"
            case .busy: "the account is busy"
            case .cannotSave: "the archive cannot be changed"
            case .storeUnreachable: "the store cannot be reached"
            case .notSaved: "new tokens could not be saved"
            default: "not confirmed by \(service), \(reason.code)"
            }
        var text = cause + (reason.detail.map { " (\(hint.naming($0)))" } ?? "")
        if let wait = reason.retryAfter { text += "; try again in \(wait.components.seconds) s" }
        return keptText(text, account)
    }

    /// Explains that the service refuses to renew a session whose access token has expired.
    static func noRenewal(of account: Account, _ reason: UnverifiedReason, _ hint: CommandHint) -> String {
        let place = [account.issuer, reason.detail].compactMap(\.self).joined(separator: ": ")
        return "the service no longer renews this session; \(signInAgain(after: reason.detail, hint))"
            + "\(place.isEmpty ? "" : " (\(place))"). You are still signed in, but there is no valid token."
    }

    /// Returns the command that signs in again, with the option that helps against an error of the service.
    static func signInAgain(after detail: String?, _ hint: CommandHint) -> String {
        let advice = detail.flatMap { SignInAdvice(mentionedIn: $0) }
        return "sign in again with `\(hint.command("login", advice?.options ?? ""))`"
    }

    private static func keptText(_ cause: String, _ account: Account) -> String {
        var text = cause + ". You are still signed in"
        if let verifiedAt = account.verifiedAt { text += "; last confirmed \(relative(verifiedAt))" }
        return text + "."
    }

    /// Explains that a session has no user, or that the service does not name the user; `nil` for other sessions.
    static func clientNote(_ account: Account) -> String? {
        if account.isClient { return "This session belongs to a client, not to a user." }
        return account.isNamedAfterAPI ? "You are signed in to \(account.shownName). The service names no user." : nil
    }

    /// The error of a command that needs a token, after a session without a refresh token has ended.
    static func end(of account: Account, _ hint: CommandHint) -> AccountError {
        let place = account.issuer.map { " at \($0)" } ?? ""
        let end = account.credentials.expiresAt.map { " \(relative($0))" } ?? ""
        return AccountError(
            .notSignedIn, "your session\(place) ended\(end), and the service issued no refresh token",
            hint: "sign in again with `\(hint.command("login"))`")
    }

    static func refusal(of account: Account, since date: Date, _ hint: CommandHint) -> String {
        "\(account.issuer ?? "The service") has refused to refresh this session since \(Self.date(date)). You "
            + "are still signed in. If this continues, sign in again with `\(hint.command("login"))`."
    }

    /// Returns a message if less than 30 days remain until the service ends a session that is not used.
    ///
    /// - Parameter lifetime: How long a refresh token stays valid if no refresh uses it; `nil` if this is unknown.
    static func unused(_ account: Account, _ lifetime: Duration?, at now: Date, _ hint: CommandHint) -> String? {
        guard let lifetime, account.credentials.refreshToken != nil else { return nil }
        let end = account.credentials.issuedAt.addingTimeInterval(lifetime.seconds)
        guard end.timeIntervalSince(now) < 30 * 24 * 3600 else { return nil }
        return "\(account.issuer ?? "The service") ends this session if it is not refreshed before \(Self.date(end)). "
            + "Run `\(hint.command("refresh"))`."
    }

    static func narrowed(_ credentials: Credentials, _ hint: CommandHint) -> String? {
        let missing = credentials.signInScopes.filter { !credentials.scopes.contains($0) }
        guard !missing.isEmpty else { return nil }
        return "The service removed permissions from this session: it has lost \(missing.joined(separator: ", ")). "
            + "Sign in again with `\(hint.command("login"))` to get all permissions back."
    }

    /// Returns a message about when a new session ends; `nil` if the session can be refreshed, or if its end is
    /// unknown.
    ///
    /// - Parameters:
    ///   - advice: What the next sign-in could request to obtain a refresh token; `nil` if there is no advice.
    ///   - isToken: Whether the user signed in with a token.
    static func limit(
        of account: Account, advice: RefreshTokenAdvice?, isToken: Bool, _ hint: CommandHint
    ) -> String? {
        let credentials = account.credentials
        guard !credentials.isRenewable, let expiresAt = credentials.expiresAt else { return nil }
        let end = "This session lasts until \(date(expiresAt)) (\(relative(expiresAt)))"
        if isToken { return end + "." }
        let request =
            switch advice {
            case .scope(let scope)?: "sign in with `\(hint.command("login", "--scope \(scope)"))`, or "
            case .parameter(let name, let value)?:
                "sign in with `\(hint.command("login", "--parameter \(name)=\(value)"))`, which some services require, or "
            case nil: ""
            }
        return end + ": the service issued no refresh token. To stay signed in longer, \(request)"
            + "allow refresh tokens for this client in the service's settings."
    }

    /// Explains a sign-out in sentences.
    package static func explanation(of signOut: SignOut, _ hint: CommandHint) -> String {
        sentences(error(of: signOut, hint))
    }

    /// Returns the message and the hint of an error as sentences.
    static func sentences(_ error: AccountError) -> String {
        [error.message, error.hint].compactMap(\.self).map { sentence($0) + "." }.joined(separator: " ")
    }

    /// Returns a text with a capital letter. Keeps the case of a URL.
    static func sentence(_ text: String) -> String {
        text.hasPrefix("http") ? text : text.prefix(1).uppercased() + text.dropFirst()
    }

    /// Returns that no user is signed in, why, and the command that signs in.
    static func summary(of signOut: SignOut, _ hint: CommandHint) -> String {
        let reason = signOut.reason == .neverSignedIn ? "" : ", \(error(of: signOut, hint).message)"
        return "no\(reason): `\(hint.command("login"))`"
    }

    /// The error of a command that needs an account.
    static func error(of signOut: SignOut, _ hint: CommandHint) -> AccountError {
        let end = signOut.date.map { " \(relative($0))" } ?? ""
        let text: String
        switch signOut.reason {
        case .neverSignedIn:
            text = hint.session == .default ? "not signed in" : "there is no session named \(hint.session)"
        case .signedOutByUser: text = "signed out" + end
        case .sessionEnded:
            let detail = signOut.detail.map { " (\($0))" } ?? ""
            let unfinished =
                signOut.unfinishedRefresh.map {
                    "; a refresh begun on \(date($0)) was interrupted before its response was stored, so the service may "
                        + "have seen one token used twice"
                } ?? ""
            let note = hint.endedSessionNote().map { "; \($0)" } ?? ""
            text = "\(signOut.issuer ?? "the service") ended this session\(end)\(detail)\(unfinished)\(note)"
        }
        return AccountError(.notSignedIn, text, hint: "sign in with `\(hint.command("login"))`")
    }

    /// Formats a date for JSON: ISO 8601, in UTC.
    package static func iso(_ date: Date) -> String { date.formatted(.iso8601) }

    /// Formats a date for the user: in the local time zone.
    package static func date(_ date: Date) -> String { LocalTime.text(of: date) }

    /// Formats a date for the user, such as "2 min ago".
    package static func relative(_ date: Date) -> String { LocalTime.relativeText(of: date, to: Date()) }
}

extension Account {
    func isOver(at date: Date) -> Bool {
        !credentials.isRenewable && credentials.isExpired(at: date)
            && !credentials.isFromFuture(at: date)
    }
}

extension SessionState {
    func isExpired(at date: Date) -> Bool {
        guard case .unverified(let account, _) = self else { return false }
        return account.isOver(at: date)
    }
}

extension String {
    fileprivate var hostAndPort: Substring {
        let start = firstRange(of: "://")?.upperBound ?? startIndex
        return self[start...].prefix { $0 != "/" }
    }
}
