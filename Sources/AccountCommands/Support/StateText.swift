package import AccountKit

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

package enum StateText {
    /// Explains a state. Returns `nil` for a verified account, whose name is sufficient.
    package static func explanation(of state: SessionState, _ hint: CommandHint) -> String? {
        switch state {
        case .verified: nil
        case .unverified(let account, let reason): explanation(of: reason, account, hint)
        case .signedOut(let signOut): explanation(of: signOut, hint)
        case .unreadable(let error): "\(error)"
        }
    }

    private static func explanation(
        of reason: UnverifiedReason, _ account: Account, _ hint: CommandHint
    ) -> String {
        let service = account.issuer ?? "the service"
        if reason.code == .moved, let move = account.move { return text(move, hint) }
        // Name the host once: the detail already contains it with its port.
        if reason.code == .offline, let detail = reason.detail, detail.contains(service.hostAndPort) {
            return keptText("offline: \(detail)", account)
        }
        let cause =
            switch reason.code {
            case .notChecked: "not checked with \(service)"
            case .offline: "offline: \(service) cannot be reached"
            case .awaitingResponse: "\(service) has not responded yet; new tokens are stored when they arrive"
            case .cancelled: "the check was cancelled"
            case .serverError: "\(service) returned a server error"
            case .rateLimited: "rate limit reached at \(service)"
            case .unclearReply: "unexpected response from \(service)"
            case .captivePortal: "another server answered instead of \(service) (a captive portal?)"
            case .untrustedTLS: "the connection to \(service) is not secure: its certificate is not trusted"
            case .proxyAuthenticationRequired: "a proxy requires a user name and password"
            case .misconfigured: "\(service) is not configured for this"
            case .insufficientScope: "the token does not have permission to identify the user"
            case .wrongAccount: "\(service) says that the token belongs to another user"
            case .replacedMeanwhile: "another process has just replaced the tokens"
            case .busy: "another process is using the account"
            case .cannotSave: "the archive cannot be changed"
            case .storeUnreachable: "the store cannot be reached"
            case .notSaved: "new tokens could not be saved"
            default: "not confirmed by \(service) (\(reason.code))"
            }
        var text = cause + (reason.detail.map { " (\($0))" } ?? "")
        if let wait = reason.retryAfter { text += "; try again in \(wait.components.seconds) s" }
        return keptText(text, account)
    }

    private static func keptText(_ cause: String, _ account: Account) -> String {
        var text = cause + ". You are still signed in"
        if let verifiedAt = account.verifiedAt { text += "; last confirmed \(date(verifiedAt))" }
        return text + "."
    }

    static func end(of account: Account, _ hint: CommandHint) -> String {
        let place = account.issuer.map { " at \($0)" } ?? ""
        let end = account.credentials.expiresAt.map { " at \(date($0))" } ?? ""
        return "Your session\(place) ended\(end), and the service issued no refresh token. Sign in again with "
            + "`\(hint.command("login"))`."
    }

    /// Returns a message for a service that rejects every refresh without ending the session.
    static func refusal(of account: Account, since date: Date, _ hint: CommandHint) -> String {
        "\(account.issuer ?? "The service") has refused to refresh this session since \(Self.date(date)) (invalid_request). You "
            + "are still signed in. If this continues, sign in again with `\(hint.command("login"))`."
    }

    /// Returns a message if the service removed permissions from the session; otherwise `nil`.
    static func narrowed(_ credentials: Credentials, _ hint: CommandHint) -> String? {
        let missing = credentials.signInScopes.filter { !credentials.scopes.contains($0) }
        guard !missing.isEmpty else { return nil }
        return "The service removed permissions from this session: it has lost \(missing.joined(separator: ", ")). "
            + "Sign in again with `\(hint.command("login"))` to get all permissions back."
    }

    /// Returns a message that tells where a session was moved, and what to do.
    package static func text(_ move: SessionMove, _ hint: CommandHint) -> String {
        let isInFiles = move.place.hasPrefix(StoreLocation.files)
        guard move.isComplete else {
            return
                "The move of this session to \(move.place), begun on \(date(move.date)), is not complete, and the session "
                + "cannot be refreshed until it is. Run `\(hint.command("store move", "--to \(isInFiles ? StoreLocation.files : move.place)"))`"
                + "\(isInFiles ? " there" : "")."
        }
        return
            "This session was moved to \(move.place) on \(date(move.date)), and is refreshed only there. Use it there "
            + "with --store \(isInFiles ? StoreLocation.files + " on that machine" : move.place)."
    }

    /// Returns a message about a session whose move to this store is unfinished.
    package static func text(incoming move: SessionMove, _ hint: CommandHint) -> String {
        let isInFiles = move.place.hasPrefix(StoreLocation.files)
        return "The move of a session from \(move.place) to this store, begun on \(date(move.date)), is not "
            + "complete. Run `\(hint.command("store move", "--from \(isInFiles ? StoreLocation.files : move.place)"))`"
            + "\(isInFiles ? " on that machine" : "")."
    }

    /// Returns a message about the end of a new session; `nil` if the session can be refreshed, or if its end is
    /// unknown.
    ///
    /// - Parameters:
    ///   - advice: What the next sign-in could request; `nil` if there is nothing, or if the user supplied the token.
    ///   - isToken: Whether the user supplied the token.
    static func limit(
        of account: Account, advice: RefreshTokenAdvice?, isToken: Bool, _ hint: CommandHint
    ) -> String? {
        let credentials = account.credentials
        guard credentials.refreshToken == nil, let expiresAt = credentials.expiresAt else { return nil }
        let end = "This session lasts until \(date(expiresAt))"
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

    package static func explanation(of signOut: SignOut, _ hint: CommandHint) -> String {
        let again = "Sign in with `\(hint.command("login"))`."
        switch signOut.reason {
        case .neverSignedIn: return "Not signed in. \(again)"
        case .signedOutByUser: return "Signed out\(signOut.date.map { " on \(date($0))" } ?? ""). \(again)"
        case .sessionEnded:
            let service = signOut.issuer ?? "The service"
            let detail = signOut.detail.map { " (\($0))" } ?? ""
            var text = "\(service) ended this session\(signOut.date.map { " on \(date($0))" } ?? "")\(detail)."
            if let unfinished = signOut.unfinishedRefresh {
                text +=
                    " A refresh begun on \(date(unfinished)) was interrupted before its response was stored, so the service "
                    + "may have seen one token used twice."
            }
            return "\(text) \(again)"
        }
    }

    package static func date(_ date: Date) -> String { date.formatted(.iso8601) }
}

extension Account {
    /// Whether the access token has expired and cannot be refreshed.
    func isOver(at date: Date) -> Bool {
        credentials.refreshToken == nil && credentials.expires(within: .zero, of: date)
            && !credentials.isFromFuture(at: date)
    }
}

extension SessionState {
    /// Whether the access token has expired, cannot be refreshed, and was not confirmed by the service.
    func isExpired(at date: Date) -> Bool {
        guard case .unverified(let account, _) = self, account.move == nil else { return false }
        return account.isOver(at: date)
    }
}

extension String {
    fileprivate var hostAndPort: Substring {
        let start = firstRange(of: "://")?.upperBound ?? startIndex
        return self[start...].prefix { $0 != "/" }
    }
}
