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

    @Test func `A sign-in that cannot be renewed is said to end, and what to try`() throws {
        let text = try #require(
            StateText.limit(
                of: account(lifetime: 3600), at: AccountService(scopes: ["openid"]), isToken: false,
                tool: "gists account"))
        #expect(text.hasPrefix("This sign-in lasts until 2027-01-15T09:00:00Z: the service issued no refresh token."))
        #expect(text.contains("`gists account login --scope offline_access`"))
    }

    @Test func `What was just tried is not advised again`() throws {
        var service = AccountService(scopes: ["openid", "offline_access"])
        for isAsked in [false, true] {
            if isAsked { service.parameters = ["prompt": "consent"] }
            let text = try #require(
                StateText.limit(of: account(lifetime: 3600), at: service, isToken: false, tool: "account"))
            #expect(!text.contains("--scope"))
            #expect(text.contains("`account login --parameter prompt=consent`") == !isAsked)
            #expect(text.contains("settings"))
        }
    }

    @Test func `Of a token that the user brought only the end is said`() {
        #expect(
            StateText.limit(of: account(lifetime: 3600), at: AccountService(), isToken: true, tool: "account")
                == "This sign-in lasts until 2027-01-15T09:00:00Z.")
    }

    @Test func `A sign-in that can be renewed, or whose end nobody knows, needs no word`() {
        let renewable = account(refreshToken: "refresh", lifetime: 3600)
        #expect(StateText.limit(of: renewable, at: AccountService(), isToken: false, tool: "account") == nil)
        #expect(
            StateText.limit(of: account(lifetime: nil), at: AccountService(), isToken: false, tool: "account") == nil)
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
            StateText.end(of: account(lifetime: 3600), tool: "account")
                == "Your sign-in at https://auth.example.com ended at 2027-01-15T09:00:00Z, and the service issued nothing to "
                + "renew it with. Sign in again with `account login`.")
    }
}
