import AccountCommands
import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct HelperToken {
    let token: Secret

    /// The user name, if it is known and can be sent with the token.
    let username: String?

    let expiresAt: Date?
}

extension CommandContext {
    /// Returns the token of the session, refreshing it first if needed. A token from the environment replaces the
    /// archive only for the current session, because the token is for one service.
    ///
    /// - Parameter rule: The rule that allows the token; `nil` if the user chose the session for any server.
    func helperToken(for rule: Rule?) async throws -> HelperToken {
        if let token = App.environmentToken, try App.chosenSession(nil, preferences) == session {
            return HelperToken(token: try token.fitForHeader(), username: nil, expiresAt: nil)
        }
        guard App.environmentToken == nil else { return try await archived(archive, rule) }
        return try await archived(store, rule)
    }

    private func archived(_ store: AccountStore, _ rule: Rule?) async throws -> HelperToken {
        let stored = try await signedInAccount(in: store)
        try rule?.checkSignIn(of: stored, hint)
        try stored.credentials.checkIsBearer(hint)
        let account = try await withUsableToken(stored, in: store)
        try rule?.checkSignIn(of: account, hint)
        try account.credentials.checkIsBearer(hint)
        let token = try account.credentials.accessToken.fitForHeader()
        return HelperToken(
            token: token, username: account.username.flatMap { Rule.isUsername($0) ? $0 : nil },
            expiresAt: account.credentials.expiresAt)
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
        isRenewable && accessToken == refused && !expires(within: .zero, of: date)
    }
}
