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

    @Test func `Says when a non-renewable sign-in ends, and how to change that`() throws {
        let text = try #require(limit(account(lifetime: 3600), .scope("offline_access")))
        #expect(text.hasPrefix("This session lasts until \(Self.end): the service issued no refresh token."))
        #expect(text.contains("`gists account login --scope offline_access`"))
        #expect(text.contains("settings"))
        let parameter = try #require(
            limit(account(lifetime: 3600), .parameter(name: "prompt", value: "consent"), session: SessionName("work")))
        #expect(parameter.contains("`gists account login --session work --parameter prompt=consent`"))
    }

    @Test func `Without a known option, advises only the settings`() throws {
        let text = try #require(limit(account(lifetime: 3600)))
        #expect(!text.contains("login"))
        #expect(text.contains("settings"))
    }

    @Test func `For a supplied token, says only when the session ends`() {
        let advice = RefreshTokenAdvice.scope("offline_access")
        #expect(
            limit(account(lifetime: 3600), advice, isToken: true) == "This session lasts until \(Self.end).")
    }

    @Test func `Says nothing about a renewable sign-in or an unknown expiry`() {
        #expect(limit(account(refreshToken: "refresh", lifetime: 3600)) == nil)
        #expect(limit(account(lifetime: nil)) == nil)
    }

    @Test func `A sign-in has ended if its token expired and cannot be renewed`() {
        let end = Self.issued.addingTimeInterval(3600)
        #expect(account(lifetime: 3600).isOver(at: end))
        #expect(!account(lifetime: 3600).isOver(at: end.addingTimeInterval(-1)))
        #expect(!account(refreshToken: "refresh", lifetime: 3600).isOver(at: end))
        #expect(!account(lifetime: nil).isOver(at: end))
        // The clock was set back since, so the expiry is meaningless.
        #expect(!account(lifetime: -7200).isOver(at: Self.issued.addingTimeInterval(-3600)))
    }

    @Test func `The end of a sign-in names the service, the date and the command`() {
        #expect(
            StateText.sentences(StateText.end(of: account(lifetime: 3600), Self.hint))
                == "Your session at https://auth.example.com ended \(StateText.relative(Self.endDate)), and the service issued no "
                + "refresh token. Sign in again with `account login`.")
    }
}
