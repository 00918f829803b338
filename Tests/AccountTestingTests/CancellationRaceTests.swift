import AccountKit
import AccountTesting
import TestScene
import Testing

struct CancellationRaceTests {
    @Test func `Ends an in-memory change stream if its listener is cancelled`() async {
        let storage = InMemoryArchiveStorage()
        let hasEnded = await CancellationRace.run { isTold in
            do { for try await _ in storage.changes(of: .account) { isTold() } } catch {}
        } against: {
            storage.overwrite(.account, with: [1])
        }
        #expect(hasEnded)
    }
}
