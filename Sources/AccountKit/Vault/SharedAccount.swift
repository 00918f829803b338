import Synchronization

final class SharedAccount: Sendable {
    fileprivate struct State {
        var account: Account?
        /// Whether the archive was read. If so, and `account` is `nil`, no user is signed in.
        var isKnown = false
        var quarantinedArchive: String?
        /// The number of changes, so that a slow read does not undo later changes.
        var changeCount = 0
        var listeners: [Int: Listener] = [:]
        var nextListener = 0
    }

    fileprivate struct Listener {
        let hear: (_ number: Int, AccountEvent, Account?) -> Void
        let finish: () -> Void
        var count = 0
    }

    private let state = Mutex(State())

    var account: Account? { state.withLock(\.account) }

    var quarantinedArchive: String? {
        get { state.withLock { $0.quarantinedArchive } }
        set { state.withLock { $0.quarantinedArchive = newValue } }
    }

    var changeCount: Int { state.withLock { $0.changeCount } }

    /// Publishes the content of the archive; returns `false` if the account has changed since the read began, so that
    /// the caller must read again.
    func publish(_ content: Vault.Content, readSince changeCount: Int) -> Bool {
        state.withLock { state in
            guard state.changeCount == changeCount else { return false }
            switch content {
            case .present(let account, _): set(account, isSignIn: false, &state)
            case .absent(let signOut): remove(signOut, &state)
            // If the archive cannot be read, a user may still be signed in.
            case .unreadable: break
            }
            return true
        }
    }

    func publish(_ account: Account, isSignIn: Bool) {
        state.withLock { state in
            set(account, isSignIn: isSignIn, &state)
            // Count a change even if the account is the same: a read that began earlier may have found the account that
            // this account replaced.
            state.changeCount += 1
        }
    }

    func publish(_ signOut: SignOut) {
        state.withLock { remove(signOut, &$0) }
    }

    func publishUnknownDurability(_ reason: String) {
        state.withLock { $0.yield(.durabilityUnknown(reason)) }
    }

    func events() -> AccountEventStream {
        let (stream, continuation) = AccountEventStream.make()
        listen(continuation) { number, event, _ in continuation.yield((number, event)) }
        return stream
    }

    func accountEvents() -> AsyncStream<(event: AccountEvent, account: Account?)> {
        let (stream, continuation) = AsyncStream.makeStream(of: (event: AccountEvent, account: Account?).self)
        listen(continuation) { _, event, account in continuation.yield((event, account)) }
        return stream
    }

    private func listen<Element>(
        _ continuation: AsyncStream<Element>.Continuation,
        _ hear: @escaping @Sendable (_ number: Int, AccountEvent, Account?) -> Void
    ) {
        let listener = state.withLock { state in
            defer { state.nextListener += 1 }
            state.listeners[state.nextListener] = Listener(hear: hear, finish: { continuation.finish() })
            return state.nextListener
        }
        // Use a separate task, since a listener may be cancelled while it gets an event under the lock.
        continuation.onTermination = { [weak self] _ in
            Task { self?.state.withLock { state in state.listeners[listener] = nil } }
        }
    }

    deinit {
        state.withLock { state in
            for listener in state.listeners.values { listener.finish() }
        }
    }
}

extension SharedAccount {
    private func set(_ account: Account, isSignIn: Bool, _ state: inout State) {
        if let old = state.account, old.isIdentical(to: account) { return }
        let isChange = state.account != account
        let isSignIn = isSignIn || state.isKnown && state.account == nil
        let event =
            isChange && !state.listeners.isEmpty
            ? AccountEvent(from: state.account, to: account, isSignIn: isSignIn) : nil
        if isChange { state.changeCount += 1 }
        state.account = account
        state.isKnown = true
        if let event { state.yield(event) }
    }

    private func remove(_ signOut: SignOut, _ state: inout State) {
        let wasSignedIn = state.account != nil
        if !state.isKnown || wasSignedIn { state.changeCount += 1 }
        state.account = nil
        state.isKnown = true
        if wasSignedIn { state.yield(.signedOut(signOut)) }
    }
}

extension SharedAccount.State {
    /// Sends an event under the lock, so that all listeners get the events in order. Sending does not block, since a
    /// yield only adds to a buffer.
    fileprivate mutating func yield(_ event: AccountEvent) {
        for id in listeners.keys {
            listeners[id]!.hear(listeners[id]!.count, event, account)
            listeners[id]!.count += 1
        }
    }
}
