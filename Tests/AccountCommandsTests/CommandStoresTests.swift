import AccountKit
import Testing

@testable import AccountCommands

struct CommandStoresTests {
    private let reader: ArchiveReader

    init() throws {
        // Nothing reads the archive.
        let container = try AppContainer(root: "/nonexistent", identifier: "com.example.notes")
        reader = ArchiveReader(container: container, session: .default, keySources: [])
    }

    @Test func `Creates the store of the archive when the command first uses it`() {
        let stores = CommandStores(reader, tokenStore: nil)
        #expect(stores.existing.isEmpty)
        let store = stores.store
        #expect(stores.archive === store)
        #expect(stores.existing.count == 1)
    }

    @Test func `Separates the archive from the token in the environment`() {
        let given = AccountStore(
            token: Secret("secret"), from: "NOTES_TOKEN", appIdentifier: "testing", session: .default)
        let stores = CommandStores(reader, tokenStore: given)
        #expect(stores.store === given)
        #expect(stores.existing.count == 1)
        #expect(stores.archive !== given)
        #expect(stores.existing.count == 2)
    }
}
