import AccountFleet
import AccountKit
import AccountTesting
import Foundation
import Testing

enum Fleets {
    static func store(in container: AppContainer) throws -> AccountStore {
        // snippet.store
        let store = try AccountStore(
            at: EtcdLocation("etcds://a.example:2379,b.example:2379,c.example:2379/notes"),
            credentials: .fromEnvironment(), container: container,
            keySources: [.command(["pass", "show", "notes-key"])])
        // snippet.end
        return store
    }
}

struct FleetTests {
    @Test func `Creates an etcd store without an account and without files`() throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "fleet-\(UUID())").path
        let container = try AppContainer(root: root, identifier: "com.example.notes")
        let store = try Fleets.store(in: container)
        #expect(store.account == nil)
        #expect(!FileManager.default.fileExists(atPath: root))
    }
}
