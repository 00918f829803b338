import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A token for another program, and what that program wants to know of it.
struct HelperToken {
    let token: Secret

    /// The user's, if that is known and can be sent with the token.
    let username: String?

    /// `nil` is unknown.
    let expiresAt: Date?
}

extension CommandContext {
    /// The token of the session, refreshed first if need be.
    ///
    /// A token from the environment is used instead of the archive for the session that commands use, and for no other: it
    /// is one service's token.
    ///
    /// - Throws: Why there is none, with what to do. Offline is `serviceUnavailable`.
    func helperToken() async throws -> HelperToken {
        if let token = App.environmentToken, try App.chosenSession(nil, preferences) == session {
            return HelperToken(token: try token.fitForHeader(), username: nil, expiresAt: nil)
        }
        guard App.environmentToken == nil else { return try await archived(archive) }
        return try await archived(store)
    }

    private func archived(_ store: AccountStore) async throws -> HelperToken {
        let account = try await withUsableToken(try await signedInAccount(in: store), in: store)
        let token = try account.credentials.accessToken.fitForHeader()
        return HelperToken(
            token: token, username: account.username.flatMap { Rule.isUsername($0) ? $0 : nil },
            expiresAt: account.credentials.expiresAt)
    }

    /// Whether a token that another program sends back is the session's own.
    func isCurrent(_ token: Secret) async -> Bool {
        await archive.load().account?.credentials.accessToken == token
    }

    /// Lets the token be refreshed before its next use, since a server did not take it. Nobody is signed out.
    ///
    /// A token that cannot be refreshed stays.
    func distrust(_ token: Secret) async throws {
        guard await isCurrent(token) else { return }
        let now = SystemWallClock().now
        try await archive.update { account throws(AccountError) in
            guard account.credentials.isWorthRefreshing(insteadOf: token, at: now) else { return }
            account.credentials.expiresAt = now
        }
    }
}

extension Credentials {
    func isWorthRefreshing(insteadOf refused: Secret, at date: Date) -> Bool {
        refreshToken != nil && accessToken == refused && !expires(within: .zero, of: date)
    }
}

extension Secret {
    /// Checks that it can stand in a header and on a line (RFC 6749, appendix A.12): a service's token is no protocol of ours.
    func fitForHeader() throws(AccountError) -> Secret {
        let isFit = withBytes { span in
            span.byteCount > 0
                && span.byteOffsets.allSatisfy { 0x21...0x7E ~= span.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
        }
        guard isFit else {
            throw AccountError(
                .misconfigured,
                "the token has characters that no header can hold, so no program gets it: sign in again")
        }
        return self
    }
}
