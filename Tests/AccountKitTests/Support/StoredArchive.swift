import AccountKit
import AccountTesting
import AccountCrypto

extension InMemoryArchiveStorage {
    /// The lineage and the generation of the stored account; `nil` if there is none.
    var storedGeneration: (lineage: [UInt8], generation: UInt64)? {
        get throws {
            guard let bytes = entries[.account]?.bytes else { return nil }
            let envelope = try Envelope(parsing: ArchivePropertyList.decode(bytes))
            return (envelope.storeID, envelope.generation)
        }
    }

    /// The state that a new process loads.
    func stateForNewProcess() async throws -> SessionState {
        try await AccountStore.inMemory(signedIn: nil, storage: self).load()
    }
}
