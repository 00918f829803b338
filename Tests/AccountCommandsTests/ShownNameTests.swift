import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands

struct ShownNameTests {
    @Test func `Formats a name from the profile like a user name`() {
        let account = Account(
            id: "1", credentials: Credentials(accessToken: Secret("t"), issuedAt: Date(timeIntervalSince1970: 0)),
            profile: ["name": "Alice\u{1B}[2J"])
        #expect(account.shownName == "Alice\u{FFFD}[2J")
    }
}
