import AccountTesting
import TestScene
import Testing

@testable import AccountKit

struct CancelledListenerTests {
    @Test func `Ends an event stream if its listener is cancelled during an event`() async {
        let shared = SharedAccount()
        let hasEnded = await CancellationRace.run { isTold in
            for await _ in shared.events() { isTold() }
        } against: {
            shared.publishUnknownDurability("")
        }
        #expect(hasEnded)
    }
}
