import AccountKit
import Testing

@testable import AccountCommands

@Suite struct RevocationResultTests {
    private func text(_ outcome: RevocationOutcome) -> String {
        outcome.text(service: "https://auth.example.com")
    }

    @Test func `States when a queued revocation will be sent`() {
        let failure = AuthorityError.unavailable(status: 503, retryAfter: nil)
        let reason = SessionDecision.reason(for: failure)
        #expect(
            text(.queued(failure))
                == " https://auth.example.com has not been notified yet (\(reason)). The next command that reaches the "
                + "service revokes the tokens.")
    }

    @Test(arguments: [RevocationOutcome.refused(.refused(status: 400)), .notSupported, .lost(.refused(status: 400))])
    func `Warns that the tokens stay valid if the revocation failed`(outcome: RevocationOutcome) {
        #expect(text(outcome).contains("The tokens stay valid there until they expire"))
    }
}
