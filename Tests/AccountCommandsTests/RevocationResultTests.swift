import AccountKit
import Testing

@testable import AccountCommands

@Suite struct RevocationResultTests {
    private func text(_ result: RevocationResult) -> String {
        result.text(service: "https://auth.example.com", reason: UnverifiedReason(.offline))
    }

    @Test func `States when a queued revocation will be sent`() {
        #expect(
            text(.queued)
                == " https://auth.example.com has not been notified yet (offline). The next command that reaches the "
                + "service revokes the tokens.")
    }

    @Test(arguments: [RevocationResult.refused, .notSupported, .lost])
    func `Warns that the tokens stay valid if the revocation failed`(result: RevocationResult) {
        #expect(text(result).contains("The tokens stay valid there until they expire"))
    }
}
