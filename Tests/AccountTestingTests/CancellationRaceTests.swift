import AccountKit
import AccountTesting
import Testing

struct CancellationRaceTests {
    @Test func `A change stream ends when its listener is cancelled during a change`() async {
        let storage = InMemoryArchiveStorage()
        let hasEnded = await CancellationRace.run { isTold in
            do { for try await _ in storage.changes(of: .account) { isTold() } } catch {}
        } against: {
            storage.overwrite(.account, with: [1])
        }
        #expect(hasEnded)
    }
}
