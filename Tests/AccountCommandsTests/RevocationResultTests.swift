import AccountKit
import Testing

@testable import AccountCommands

@Suite struct RevocationResultTests {
    private func text(_ result: RevocationResult) -> String {
        result.text(service: "https://auth.example.com", reason: UnverifiedReason(.offline))
    }

    @Test func `A successful revocation needs no message`() {
        #expect(text(.done) == "")
        #expect(text(.notNeeded) == "")
    }

    @Test func `A queued revocation says when it will be delivered`() {
        #expect(
            text(.queued)
                == " https://auth.example.com has not been notified yet (offline). The next command that reaches it "
                + "revokes the tokens.")
    }

    @Test(arguments: [RevocationResult.refused, .notSupported, .lost])
    func `A failed revocation says that the tokens stay valid`(result: RevocationResult) {
        #expect(text(result).contains("The tokens stay valid there until they expire"))
    }

    @Test func `The JSON values are stable`() {
        let all: [RevocationResult] = [.notNeeded, .done, .queued, .refused, .notSupported, .lost]
        #expect(all.map(\.rawValue) == ["notNeeded", "done", "queued", "refused", "notSupported", "lost"])
    }
}
