import AccountKit
import Synchronization

/// The stores of a command. A store is created when the command first uses it.
final class CommandStores: Sendable {
    private let reader: ArchiveReader

    /// The store of the token from the environment; `nil` if there is none.
    private let tokenStore: AccountStore?

    private let archiveStore = Mutex<AccountStore?>(nil)

    init(_ reader: ArchiveReader, tokenStore: AccountStore?) {
        self.reader = reader
        self.tokenStore = tokenStore
        tokenStore?.observeExchanges(SignalGuard.shared)
    }

    var store: AccountStore { tokenStore ?? archive }

    var archive: AccountStore {
        archiveStore.withLock { store in
            if let store { return store }
            let created = AccountStore(reader)
            created.observeExchanges(SignalGuard.shared)
            store = created
            return created
        }
    }

    /// The stores that the command has used.
    var created: [AccountStore] { [tokenStore, archiveStore.withLock(\.self)].compactMap(\.self) }
}
