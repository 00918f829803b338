import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands

/// The lifetimes of an account's access token and ID token.
@Suite struct KeptTokenTests {
    private func token(_ claims: String) -> Secret {
        let payload = Data(claims.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
        return Secret("eyJhbGciOiJub25lIn0.\(payload).")
    }

    private static let issued = Date(timeIntervalSince1970: 1_900_000_000)

    private static func date(_ seconds: TimeInterval) -> Date { issued.addingTimeInterval(seconds) }

    @Test func `Uses the lifetime of the ID token, not of the access token`() throws {
        var credentials = Credentials(
            accessToken: Secret("access"), refreshToken: Secret("refresh"), issuedAt: Self.date(1000),
            expiresAt: Self.date(1060))
        credentials.idToken = token(#"{"iat":1900000000,"exp":1900007200}"#)
        let kept = try KeptToken(.id, of: credentials, in: .default)
        #expect(kept.issuedAt == Self.issued && kept.expiresAt == Self.date(7200) && kept.isRenewable)
        // If the service's clock is ahead, the issue date is the date of the response.
        credentials.idToken = token(#"{"iat":1900005000,"exp":1900007200}"#)
        #expect(try KeptToken(.id, of: credentials, in: .default).issuedAt == credentials.issuedAt)
        #expect(try KeptToken(.access, of: credentials, in: .default).expiresAt == credentials.expiresAt)
    }

    @Test(arguments: ["opaque", #"{"iat":1900000000}"#, #"{"exp":"soon"}"#])
    func `Refuses an ID token without an expiry`(claims: String) {
        let idToken = claims.hasPrefix("{") ? token(claims) : Secret(claims)
        let credentials = Credentials(accessToken: Secret("access"), idToken: idToken, issuedAt: Self.issued)
        let error = #expect(throws: AccountError.self) { try KeptToken(.id, of: credentials, in: .default) }
        #expect(error?.code == .misconfigured)
    }

    @Test func `Refuses an ID token with a line break`() {
        let whole = token(#"{"exp":1900007200}"#).reveal()
        let credentials = Credentials(
            accessToken: Secret("access"), idToken: Secret(whole + "\nexport X=1"), issuedAt: Self.issued)
        #expect(throws: AccountError.self) { try KeptToken(.id, of: credentials, in: .default) }
    }

    private static func kept(life: TimeInterval? = 3600, isRenewable: Bool = true) -> KeptToken {
        KeptToken(
            secret: Secret("t"), issuedAt: issued, expiresAt: life.map { date($0) }, isRenewable: isRenewable)
    }

    @Test(
        arguments: [
            (3600.0, nil, 3539.0, true), (3600, nil, 3540, false), (60, nil, 29, true), (60, nil, 30, false),
            (3600, .seconds(600), 2999, true), (3600, .seconds(600), 3000, false), (3600, .zero, 3599, true),
            (3600, .zero, 3600, false), (3600, .seconds(7200), 0, false), (nil, .seconds(7200), 9e9, true),
            // The clock was set back after the token was issued.
            (3600, nil, -301, false),
        ] as [(TimeInterval?, Duration?, TimeInterval, Bool)])
    func `Treats a token as valid if it lasts for the required time`(
        life: TimeInterval?, validity: Duration?, now: TimeInterval, isGood: Bool
    ) {
        #expect(Self.kept(life: life).isGood(for: validity, at: Self.date(now)) == isGood)
    }

    @Test(
        arguments: [
            // The last response contained the token.
            (nil, 0.0, 3550.0, true), (nil, 119, 3550, true), (nil, -600, 3550, true), (.seconds(7200), 0, 10, true),
            // The last response omitted the token, before and after it was due for renewal.
            (nil, 1000, 3550, true), (nil, 3545, 3550, false), (.seconds(7200), 1000, 1010, false),
            // The token expired after the last response, or before it.
            (nil, 3550, 3601, true), (nil, 3601, 3602, false), (nil, 3600, 7200, false),
        ] as [(Duration?, TimeInterval, TimeInterval, Bool)])
    func `Refreshes only once for an ID token if the service returns no ID token`(
        validity: Duration?, response: TimeInterval, now: TimeInterval, isWorth: Bool
    ) {
        func isWorthRenewing(_ token: KeptToken) -> Bool {
            token.isWorthRenewing(for: validity, lastResponse: Self.date(response), at: Self.date(now))
        }
        #expect(isWorthRenewing(Self.kept()) == isWorth)
        #expect(!isWorthRenewing(Self.kept(isRenewable: false)))
    }
}
