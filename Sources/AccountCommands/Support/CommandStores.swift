import AccountKit
import Synchronization

/// The stores of a command. The store of the archive is created when the command first uses it.
final class CommandStores: Sendable {
    private let vault: Vault

    /// The store of the token from the environment; `nil` if there is none.
    private let tokenStore: AccountStore?

    private let archiveStore = Mutex<AccountStore?>(nil)

    init(_ vault: Vault, tokenStore: AccountStore?) {
        self.vault = vault
        self.tokenStore = tokenStore
        tokenStore?.observeExchanges(SignalGuard.shared)
    }

    var store: AccountStore { tokenStore ?? archive }

    var archive: AccountStore {
        archiveStore.withLock { store in
            if let store { return store }
            // The commands deliver the queues of all sessions.
            let new = AccountStore(vault).leavingRevocations()
            new.observeExchanges(SignalGuard.shared)
            store = new
            return new
        }
    }

    /// The stores that have been created.
    var existing: [AccountStore] { [tokenStore, archiveStore.withLock(\.self)].compactMap(\.self) }
}
