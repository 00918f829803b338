import AccountCommands
import AccountKit
import Logging
import AccountSupport

struct HelperToken {
    let token: Secret

    /// The user name, if it is known and can be sent with the token.
    let username: String?

    let expiresAt: Date?
}

/// A program that asks again if its server refuses the token, and does not say so.
struct AskingProgram {
    /// The server for which it asks.
    var place: String

    /// Whether it keeps a token until the expiry, so that it asks earlier only after a refusal.
    var keepsTokens = false

    /// Sends the token to the server, which renews a refused token. `nil` if AccountKit cannot send the program's requests.
    var check: (@Sendable () async -> Void)?
}

extension CommandContext {
    /// Returns the token of the session, refreshing it first if needed. A token from the environment replaces the
    /// archive only for the current session, because the token is for one service.
    ///
    /// - Parameters:
    ///   - rule: The rule that allows the token; `nil` if the user chose the session for any server.
    ///   - program: The program, if it asks again after a refusal; `nil` for other programs.
    func helperToken(for rule: Rule?, of program: AskingProgram? = nil) async throws -> HelperToken {
        if let token = App.environmentToken, try App.chosenSession(nil, preferences) == session {
            return HelperToken(token: try token.fitForHeader(), username: nil, expiresAt: nil)
        }
        guard App.environmentToken == nil else { return try await archived(archive, rule, program) }
        return try await archived(store, rule, program)
    }

    private func archived(
        _ store: AccountStore, _ rule: Rule?, _ program: AskingProgram?
    ) async throws -> HelperToken {
        var stored = try await signedInAccount(in: store)
        try rule?.checkSignIn(of: stored, hint)
        try stored.credentials.checkIsBearer(hint)
        if let program, await isAskedAgain(for: program.place, stored.credentials) {
            if stored.credentials.expiresAt == nil || program.keepsTokens {
                try await distrustIfOld(stored.credentials)
            } else {
                await program.check?()
            }
            stored = try await signedInAccount(in: store)
            try rule?.checkSignIn(of: stored, hint)
            try stored.credentials.checkIsBearer(hint)
        }
        let account = try await withUsableToken(stored, in: store)
        try rule?.checkSignIn(of: account, hint)
        try account.credentials.checkIsBearer(hint)
        let token = try account.credentials.accessToken.fitForHeader()
        return HelperToken(
            token: token, username: account.username.flatMap { Rule.isUsername($0) ? $0 : nil },
            expiresAt: account.credentials.expiresAt)
    }

    /// Returns whether the same program has got this token for the same server before, and records this request.
    private func isAskedAgain(for place: String, _ credentials: Credentials) async -> Bool {
        guard credentials.isRenewable, !credentials.isExpired(at: SystemWallClock().now) else {
            return false
        }
        let request = HelperRequest(
            program: SystemCall.parentProcess, place: place, session: session.rawValue,
            issuedAt: credentials.issuedAt.timeIntervalSince1970)
        do {
            return try await HelperRequests.note(request, in: container)
        } catch {
            // The token may still be valid.
            logger?.debug("the request of a program cannot be recorded", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Renews a token that a server has probably refused.
    private func distrustIfOld(_ credentials: Credentials) async throws {
        guard SystemWallClock().now.timeIntervalSince(credentials.issuedAt) >= HelperRequests.minimumAge else { return }
        try await distrust(credentials.accessToken)
    }

    func isCurrent(_ token: Secret) async -> Bool {
        await archive.load().account?.credentials.accessToken == token
    }

    /// Marks a token that a server rejected as expired, so that it is refreshed before its next use. A token that
    /// cannot be refreshed is left unchanged. The user stays signed in.
    func distrust(_ token: Secret) async throws {
        guard let account = await archive.load().account, account.credentials.accessToken == token,
            !lacksClientSecret(for: account, in: session)
        else { return }
        let now = SystemWallClock().now
        try await archive.update { account throws(AccountError) in
            guard account.credentials.isWorthRefreshing(insteadOf: token, at: now) else { return }
            account.credentials.expiresAt = now
        }
    }
}

extension Credentials {
    func isWorthRefreshing(insteadOf refused: Secret, at date: Date) -> Bool {
        isRenewable && accessToken == refused && !isExpired(at: date)
    }
}
