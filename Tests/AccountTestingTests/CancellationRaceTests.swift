import AccountKit
import AccountTesting
import Testing

struct CancellationRaceTests {
    @Test func `Who listens to a storage is cancelled while it is told of a change`() async {
        let storage = InMemoryArchiveStorage()
        #expect(
            await CancellationRace.run(
                {
                    do { for try await _ in storage.changes(of: .account) {} } catch {}
                }, against: { storage.overwrite(.account, with: [1]) }))
    }
}
