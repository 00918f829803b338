import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum StateText {
    /// `nil` if there is nothing to say beyond the user's name.
    static func explanation(of state: SessionState, _ hint: CommandHint) -> String? {
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
        // Names the host once: the detail has it with its port.
        if reason.code == .offline, let detail = reason.detail, detail.contains(service.hostAndPort) {
            return keptText("offline: \(detail)", account)
        }
        let cause =
            switch reason.code {
            case .notChecked: "not checked with \(service)"
            case .offline: "offline: \(service) cannot be reached"
            case .awaitingResponse: "\(service) has not answered yet; new tokens are stored when they come"
            case .cancelled: "the check was cancelled"
            case .serverError: "\(service) returned a server error"
            case .rateLimited: "rate limit reached at \(service)"
            case .unclearReply: "unexpected response from \(service)"
            case .captivePortal: "another server answered instead of \(service) (a captive portal?)"
            case .untrustedTLS: "the connection to \(service) is not safe: its certificate cannot be trusted"
            case .proxyAuthenticationRequired: "a proxy wants a user name and password of its own"
            case .misconfigured: "\(service) is not set up for this"
            case .insufficientScope: "the token does not allow to ask who you are"
            case .wrongAccount: "\(service) takes the token for another user's"
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
        return "Your sign-in\(place) ended\(end), and the service issued nothing to renew it with. Sign in again with "
            + "`\(hint.command("login"))`."
    }

    /// The service refuses each refresh, and does not say that the session is over.
    static func refusal(of account: Account, since date: Date, _ hint: CommandHint) -> String {
        "\(account.issuer ?? "The service") has refused to renew this session since \(Self.date(date)) (invalid_request). You are still "
            + "signed in. If this goes on, sign in again with `\(hint.command("login"))`."
    }

    /// The service has taken permissions from the session; `nil` if it has not.
    static func narrowed(_ credentials: Credentials, _ hint: CommandHint) -> String? {
        let missing = credentials.signInScopes.filter { !credentials.scopes.contains($0) }
        guard !missing.isEmpty else { return nil }
        return "The service has narrowed this session: it has lost \(missing.joined(separator: ", ")). "
            + "Sign in again with `\(hint.command("login"))` to get all permissions back."
    }

    /// Where a session is now, and what to do.
    static func text(_ move: SessionMove, _ hint: CommandHint) -> String {
        let isInFiles = move.place.hasPrefix(StoreLocation.files)
        guard move.isComplete else {
            return
                "The move of this sign-in to \(move.place), begun on \(date(move.date)), was not completed, and nobody "
                + "can refresh it until then. Run `\(hint.command("store move", "--to \(isInFiles ? StoreLocation.files : move.place)"))`"
                + "\(isInFiles ? " there" : "")."
        }
        return
            "This sign-in was moved to \(move.place) on \(date(move.date)), and is refreshed there only. Use it there, "
            + "with --store \(isInFiles ? StoreLocation.files + " on that machine" : move.place)."
    }

    /// A session that is to come here.
    static func text(incoming move: SessionMove, _ hint: CommandHint) -> String {
        let isInFiles = move.place.hasPrefix(StoreLocation.files)
        return "The move of a sign-in from \(move.place) to here, begun on \(date(move.date)), was not completed. Run "
            + "`\(hint.command("store move", "--from \(isInFiles ? StoreLocation.files : move.place)"))`"
            + "\(isInFiles ? " on that machine" : "")."
    }

    /// `nil` if a new sign-in can be renewed, or if its end is unknown.
    ///
    /// - Parameters:
    ///   - advice: What the next sign-in could ask for; `nil` if there is nothing, or if the user brought the token.
    ///   - isToken: Whether the user brought the token.
    static func limit(
        of account: Account, advice: RefreshTokenAdvice?, isToken: Bool, _ hint: CommandHint
    ) -> String? {
        let credentials = account.credentials
        guard credentials.refreshToken == nil, let expiresAt = credentials.expiresAt else { return nil }
        let end = "This sign-in lasts until \(date(expiresAt))"
        if isToken { return end + "." }
        let request =
            switch advice {
            case .scope(let scope)?: "sign in with `\(hint.command("login", "--scope \(scope)"))`, or "
            case .parameter(let name, let value)?:
                "sign in with `\(hint.command("login", "--parameter \(name)=\(value)"))`, which some services want for that, or "
            case nil: ""
            }
        return end + ": the service issued no refresh token. To stay signed in longer, \(request)"
            + "allow refresh tokens for this client in the service's settings."
    }

    static func explanation(of signOut: SignOut, _ hint: CommandHint) -> String {
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
                    " A refresh begun on \(date(unfinished)) was cut off before its response was stored, so the service may have "
                    + "seen one token used twice."
            }
            return "\(text) \(again)"
        }
    }

    static func date(_ date: Date) -> String { date.formatted(.iso8601) }
}

extension Account {
    /// The access token has expired, and nothing can renew it.
    func isOver(at date: Date) -> Bool {
        credentials.refreshToken == nil && credentials.expires(within: .zero, of: date)
            && !credentials.isFromFuture(at: date)
    }
}

extension SessionState {
    /// Whether the access token has expired, nothing can renew it, and the service has not confirmed it either.
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
