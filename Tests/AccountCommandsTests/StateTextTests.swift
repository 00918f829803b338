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

    private func limit(
        _ account: Account, _ advice: RefreshTokenAdvice? = nil, isToken: Bool = false, session: SessionName = .default
    ) -> String? {
        StateText.limit(
            of: account, advice: advice, isToken: isToken,
            CommandHint(tool: "gists account", session: session, isNamed: session != .default))
    }

    @Test func `A sign-in that cannot be renewed is said to end, and what to try`() throws {
        let text = try #require(limit(account(lifetime: 3600), .scope("offline_access")))
        #expect(text.hasPrefix("This sign-in lasts until 2027-01-15T09:00:00Z: the service issued no refresh token."))
        #expect(text.contains("`gists account login --scope offline_access`"))
        #expect(text.contains("settings"))
        let parameter = try #require(
            limit(account(lifetime: 3600), .parameter(name: "prompt", value: "consent"), session: SessionName("work")))
        #expect(parameter.contains("`gists account login --session work --parameter prompt=consent`"))
    }

    @Test func `Without anything to ask for, only the settings are advised`() throws {
        let text = try #require(limit(account(lifetime: 3600)))
        #expect(!text.contains("login"))
        #expect(text.contains("settings"))
    }

    @Test func `Of a token that the user brought only the end is said`() {
        let advice = RefreshTokenAdvice.scope("offline_access")
        #expect(
            limit(account(lifetime: 3600), advice, isToken: true) == "This sign-in lasts until 2027-01-15T09:00:00Z.")
    }

    @Test func `A sign-in that can be renewed, or whose end nobody knows, needs no word`() {
        #expect(limit(account(refreshToken: "refresh", lifetime: 3600)) == nil)
        #expect(limit(account(lifetime: nil)) == nil)
    }

    @Test func `A sign-in is over when its token has expired and nothing can renew it`() {
        let end = Self.issued.addingTimeInterval(3600)
        #expect(account(lifetime: 3600).isOver(at: end))
        #expect(!account(lifetime: 3600).isOver(at: end.addingTimeInterval(-1)))
        #expect(!account(refreshToken: "refresh", lifetime: 3600).isOver(at: end))
        #expect(!account(lifetime: nil).isOver(at: end))
        // The clock was set back since then: the expiry says nothing.
        #expect(!account(lifetime: -7200).isOver(at: Self.issued.addingTimeInterval(-3600)))
    }

    @Test func `The end of a sign-in is told with its place, its date and what to do`() {
        #expect(
            StateText.end(of: account(lifetime: 3600), Self.hint)
                == "Your sign-in at https://auth.example.com ended at 2027-01-15T09:00:00Z, and the service issued nothing to "
                + "renew it with. Sign in again with `account login`.")
    }
}
