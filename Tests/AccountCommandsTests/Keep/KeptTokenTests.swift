import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands

/// A token of an account, and its own life.
@Suite struct KeptTokenTests {
    private func token(_ claims: String) -> Secret {
        let payload = Data(claims.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
        return Secret("eyJhbGciOiJub25lIn0.\(payload).")
    }

    @Test func `An ID token lives by its own dates, not by those of the access token`() throws {
        let issued = Date(timeIntervalSince1970: 1_900_000_000)
        var credentials = Credentials(
            accessToken: Secret("access"), refreshToken: Secret("refresh"), issuedAt: issued.addingTimeInterval(1000),
            expiresAt: issued.addingTimeInterval(1060))
        #expect(KeptToken(.id, of: credentials) == nil)
        credentials.idToken = token(#"{"iat":1900000000,"exp":1900007200}"#)
        let kept = try #require(KeptToken(.id, of: credentials))
        #expect(kept.issuedAt == issued && kept.expiresAt == issued.addingTimeInterval(7200) && kept.isRenewable)
        // A service whose clock is ahead does not make it younger than it can be.
        credentials.idToken = token(#"{"iat":1900005000,"exp":1900007200}"#)
        #expect(KeptToken(.id, of: credentials)?.issuedAt == credentials.issuedAt)
        #expect(KeptToken(.access, of: credentials)?.expiresAt == credentials.expiresAt)
    }
}
