import AccountTesting
import Testing

@testable import AccountKit

struct CancelledListenerTests {
    @Test func `Who listens to events is cancelled while there is one`() async {
        let shared = SharedAccount()
        #expect(
            await CancellationRace.run(
                {
                    for await _ in shared.events() {}
                }, against: { shared.publishUnknownDurability("") }))
    }
}
