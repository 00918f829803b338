import AccountKit
import Testing

@testable import AccountCommands

@Suite struct RevocationResultTests {
    private func text(_ result: RevocationResult) -> String {
        result.text(service: "https://auth.example.com", reason: UnverifiedReason(.offline))
    }

    @Test func `What went as it should needs no word`() {
        #expect(text(.done) == "")
        #expect(text(.notNeeded) == "")
    }

    @Test func `A sign-out that is still to be told says when it will be`() {
        #expect(
            text(.queued)
                == " https://auth.example.com could not be told yet (offline). The next command that reaches it "
                + "revokes the tokens.")
    }

    @Test(arguments: [RevocationResult.refused, .notSupported, .lost])
    func `Tokens that live on are not concealed`(result: RevocationResult) {
        #expect(text(result).contains("The tokens stay valid there until they expire"))
    }

    @Test func `The values of JSON are these`() {
        let all: [RevocationResult] = [.notNeeded, .done, .queued, .refused, .notSupported, .lost]
        #expect(all.map(\.rawValue) == ["notNeeded", "done", "queued", "refused", "notSupported", "lost"])
    }
}
