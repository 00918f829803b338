import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands

@Suite struct StateTextTests {
    private static let issued = Date(timeIntervalSince1970: 1_800_000_000)

    private func account(refreshToken: String? = nil, lifetime: TimeInterval?) -> Account {
        Account(
            id: "1", issuer: "https://auth.example.com", username: "alice",
            credentials: Credentials(
                accessToken: Secret("access"), refreshToken: refreshToken.map { Secret($0) }, issuedAt: Self.issued,
                expiresAt: lifetime.map { Self.issued.addingTimeInterval($0) }))
    }

    private func limit(_ account: Account, _ advice: RefreshTokenAdvice? = nil, isToken: Bool = false) -> String? {
        StateText.limit(
            of: account, advice: advice, isToken: isToken, CommandHint(tool: "gists account", session: .default))
    }

    @Test func `States only the end of the session for a supplied token`() {
        let date = Self.issued.addingTimeInterval(3600)
        #expect(
            limit(account(lifetime: 3600), .scope("offline_access"), isToken: true)
                == "This session lasts until \(StateText.date(date)) (\(StateText.relative(date))).")
    }

    @Test func `Prints no end date for a renewable sign-in or an unknown expiry`() {
        #expect(limit(account(refreshToken: "refresh", lifetime: 3600)) == nil)
        #expect(limit(account(lifetime: nil)) == nil)
    }

    @Test func `Warns 30 days before the service ends an unused session`() {
        func text(_ token: String? = "refresh", lifetimeDays: Double? = 184, afterDays days: Double) -> String? {
            StateText.unused(
                account(refreshToken: token, lifetime: 28_800), lifetimeDays.map { .seconds($0 * 86_400) },
                at: Self.issued.addingTimeInterval(days * 86_400),
                CommandHint(tool: "account", session: .default, isNamed: false))
        }
        #expect(text(afterDays: 153) == nil)
        let end = StateText.date(Self.issued.addingTimeInterval(184 * 86_400))
        let warning =
            "https://auth.example.com ends this session if it is not refreshed before \(end). Run `account refresh`."
        #expect(text(afterDays: 155) == warning)
        #expect(text(afterDays: 200) == warning)
        #expect(text(nil, afterDays: 155) == nil)
        #expect(text(lifetimeDays: nil, afterDays: 155) == nil)
    }

    @Test func `Treats a sign-in as ended if its token expired and is not renewable`() {
        let end = Self.issued.addingTimeInterval(3600)
        #expect(account(lifetime: 3600).isOver(at: end))
        #expect(!account(lifetime: 3600).isOver(at: end.addingTimeInterval(-1)))
        #expect(!account(refreshToken: "refresh", lifetime: 3600).isOver(at: end))
        #expect(!account(lifetime: nil).isOver(at: end))
        // The clock was set back after the token was issued, so the expiry is meaningless.
        #expect(!account(lifetime: -7200).isOver(at: Self.issued.addingTimeInterval(-3600)))
    }
}
