import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands

@Suite struct StateTextTests {
    private static let hint = CommandHint(tool: "account", session: .default, isNamed: false)
    private static let issued = Date(timeIntervalSince1970: 1_800_000_000)

    private func account(refreshToken: String? = nil, lifetime: TimeInterval?) -> Account {
        Account(
            id: "1", issuer: "https://auth.example.com", username: "alice",
            credentials: Credentials(
                accessToken: Secret("access"), refreshToken: refreshToken.map { Secret($0) }, issuedAt: Self.issued,
                expiresAt: lifetime.map { Self.issued.addingTimeInterval($0) }))
    }

    private static let endDate = issued.addingTimeInterval(3600)
    private static let end = "\(StateText.date(endDate)) (\(StateText.relative(endDate)))"

    private func limit(
        _ account: Account, _ advice: RefreshTokenAdvice? = nil, isToken: Bool = false, session: SessionName = .default
    ) -> String? {
        StateText.limit(
            of: account, advice: advice, isToken: isToken,
            CommandHint(tool: "gists account", session: session, isNamed: session != .default))
    }

    @Test func `States when a non-renewable sign-in ends, and how to make it renewable`() throws {
        let text = try #require(limit(account(lifetime: 3600), .scope("offline_access")))
        #expect(text.hasPrefix("This session lasts until \(Self.end): the service issued no refresh token."))
        #expect(text.contains("`gists account login --scope offline_access`"))
        #expect(text.contains("settings"))
        let parameter = try #require(
            limit(account(lifetime: 3600), .parameter(name: "prompt", value: "consent"), session: SessionName("work")))
        #expect(parameter.contains("`gists account login --session work --parameter prompt=consent`"))
    }

    @Test func `Advises only the service's settings if no option is known`() throws {
        let text = try #require(limit(account(lifetime: 3600)))
        #expect(!text.contains("login"))
        #expect(text.contains("settings"))
    }

    @Test func `States only the end of the session for a supplied token`() {
        let advice = RefreshTokenAdvice.scope("offline_access")
        #expect(
            limit(account(lifetime: 3600), advice, isToken: true) == "This session lasts until \(Self.end).")
    }

    @Test func `Prints no end date for a renewable sign-in or an unknown expiry`() {
        #expect(limit(account(refreshToken: "refresh", lifetime: 3600)) == nil)
        #expect(limit(account(lifetime: nil)) == nil)
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

    @Test func `Names the service, the date and the command after a sign-in has ended`() {
        #expect(
            StateText.sentences(StateText.end(of: account(lifetime: 3600), Self.hint))
                == "Your session at https://auth.example.com ended \(StateText.relative(Self.endDate)), and the service issued no "
                + "refresh token. Sign in again with `account login`.")
    }
}
