import AccountKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountCommands

/// What an ID token says of its own life.
@Suite struct TokenTimesTests {
    private func token(_ claims: String) -> Secret {
        let payload = Data(claims.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
        return Secret("eyJhbGciOiJub25lIn0.\(payload).")
    }

    @Test func `Issue and expiry are read, whole or not`() {
        let times = TokenTimes(of: token(#"{"sub":"ä???>>>","iat":1900000000,"exp":1900003600.5}"#))
        #expect(times.issuedAt == Date(timeIntervalSince1970: 1_900_000_000))
        #expect(times.expiresAt == Date(timeIntervalSince1970: 1_900_003_600.5))
    }

    @Test(arguments: [
        #"{}"#, #"{"exp":"1900003600"}"#, #"{"exp":null}"#, #"{"exp":-1}"#, #"{"exp":1e300}"#, #"[1900003600]"#, "",
        "{",
        #"{"exp":1900003600000}"#,
    ])
    func `What is no date is unknown`(claims: String) {
        let times = TokenTimes(of: token(claims))
        #expect(times.issuedAt == nil && times.expiresAt == nil)
    }

    @Test(arguments: ["", ".", "..", "a.b.c", "opaque", "a.e30.c.d", "a.\u{0}\u{FF}.c"])
    func `What is no token says nothing`(text: String) {
        #expect(TokenTimes(of: Secret(text)).expiresAt == nil)
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

    @Test func `The service manager is told in time, if it wants to be`() {
        func interval(_ variables: [String: String]) -> TimeInterval? {
            ServiceManager(environment: { variables[$0] }, process: 42).watchdogInterval
        }
        #expect(interval([:]) == nil)
        #expect(interval(["WATCHDOG_USEC": "30000000"]) == 15)
        #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"]) == 15)
        #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "43"]) == nil)
        #expect(interval(["WATCHDOG_USEC": "x"]) == nil)
    }
}
