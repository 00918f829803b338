import AccountTesting
import TestScene
import Testing

@testable import AccountFleet

struct SessionWatchTests {
    @Test func `Ends an etcd change stream if a listener is cancelled during a change`() async throws {
        // No server listens at this address.
        let client = try EtcdClient(
            location: EtcdLocation("etcd://127.0.0.1:1/test"), credentials: EtcdCredentials(), logger: nil)
        let watch = SessionWatch(client: client, folder: "test/", revision: 1)
        let hasEnded = await CancellationRace.run { isTold in
            do { for try await _ in watch.changes(of: "test/Account.plist") { isTold() } } catch {}
        } against: {
            watch.tell(upTo: 2)
        }
        #expect(hasEnded)
    }
}
