import AccountTesting
import Testing

@testable import AccountKit

struct CancelledListenerTests {
    @Test func `Who listens to events is cancelled while there is one`() async {
        let shared = SharedAccount()
        let hasEnded = await CancellationRace.run { isTold in
            for await _ in shared.events() { isTold() }
        } against: {
            shared.publishUnknownDurability("")
        }
        #expect(hasEnded)
    }
}
