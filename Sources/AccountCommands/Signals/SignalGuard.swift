import AccountKit
import CAccountKitShims
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Delays signals that end the process while a token exchange is under way, so that new tokens are not lost.
///
/// It handles SIGINT, SIGTERM, SIGHUP and SIGQUIT, unless the process handles or ignores them itself. The guard notes the
/// first signal, tells a user at a terminal what is being finished, and ends the process when the exchange is over. On a
/// terminal, the user can give up with a second Ctrl-C, at least a second after the first. Without an exchange, the guard
/// leaves signals alone.
package final class SignalGuard: ExchangeObserver {
    /// One for the process, as signals are.
    package static let shared = SignalGuard()

    private struct State {
        var exchanges = 0
        var waits = 0
        var deadline: ContinuousClock.Instant?

        /// Stores whose exchanges are under way, or whose new tokens could not be saved yet.
        var stores: [AccountStore] = []
    }

    // The C functions require that they are called under the lock.
    private let state = Mutex(State())

    private init() {}

    package func exchangeBegan(limit: Duration) {
        let end = ContinuousClock.now + limit
        state.withLock { state in
            state.exchanges += 1
            let deadline = max(state.deadline ?? end, end)
            state.deadline = deadline
            let isWatched = Terminal.isTerminal(.error)
            accountkit_signals_hold(isWatched ? Self.notice(limit: ContinuousClock.now.duration(to: deadline)) : "")
        }
    }

    package func exchangeEnded() {
        state.withLock { state in
            guard state.exchanges > 0 else { return }
            state.exchanges -= 1
            guard state.exchanges == 0 else { return }
            state.deadline = nil
            accountkit_signals_release()
        }
    }

    package var isInterrupted: Bool { accountkit_signals_noted() != 0 }

    /// Until the last deadline of the exchanges that are under way; `nil` if there are none.
    var timeLeft: Duration? {
        state.withLock { state in state.deadline.map { max(ContinuousClock.now.duration(to: $0), .zero) } }
    }

    /// Keeps a store until its exchanges are finished.
    fileprivate func keep(_ store: AccountStore) {
        state.withLock { state in
            if !state.stores.contains(where: { $0 === store }) { state.stores.append(store) }
        }
    }

    fileprivate func drop(_ store: AccountStore) {
        state.withLock { $0.stores.removeAll { $0 === store } }
    }

    /// Waits until no store that delays signals is exchanging tokens.
    func finishPendingRequests() async {
        await Waiting.toFinish(timeLeft) {
            while let store = state.withLock({ $0.stores.popLast() }) { await store.finishPendingRequests() }
        }
    }

    private static func notice(limit: Duration) -> String {
        Terminal.lineStart + "Finishing what was sent to the service first, at most \(limit.wholeSeconds) s.\n"
    }

    /// Prints "Cancelled." if a signal ends the process meanwhile.
    package func whileWaiting<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        state.withLock { state in
            state.waits += 1
            let start = Terminal.isTerminal(.error) ? Terminal.lineStart : ""
            if state.waits == 1 { accountkit_signals_begin_waiting(start + "Cancelled.\n") }
        }
        defer {
            state.withLock { state in
                state.waits -= 1
                if state.waits == 0 { accountkit_signals_end_waiting() }
            }
        }
        return try await body()
    }

    /// Restores the settings of a terminal if a signal ends the process meanwhile.
    func restoringTerminal<Result>(_ descriptor: Int32, _ body: () throws -> Result) rethrows -> Result {
        // If this fails, the terminal keeps its settings, which is no reason not to ask.
        state.withLock { _ in _ = accountkit_signals_remember_terminal(descriptor) }
        defer { state.withLock { _ in _ = accountkit_signals_remember_terminal(-1) } }
        return try body()
    }

    static func endProcessByClosedPipe() -> Never { accountkit_end_by_closed_pipe() }

    /// As if the signal had come. Returns if the process handles or ignores it.
    static func endProcess(by signal: Int32) { accountkit_signals_raise(signal) }

    /// As Ctrl-C does. Returns if the process handles or ignores that.
    static func interruptProcess() { accountkit_signals_raise(SIGINT) }
}

/// Delays signals while one store exchanges tokens, and keeps the store until they are stored.
final class StoreSignalGuard: ExchangeObserver {
    private struct Reference { weak var store: AccountStore? }

    private let reference: Mutex<Reference>

    init(_ store: AccountStore) { reference = Mutex(Reference(store: store)) }

    private var store: AccountStore? { reference.withLock(\.store) }

    func exchangeBegan(limit: Duration) {
        if let store { SignalGuard.shared.keep(store) }
        SignalGuard.shared.exchangeBegan(limit: limit)
    }

    func exchangeEnded() {
        SignalGuard.shared.exchangeEnded()
        if let store, store.hasFinishedExchanges, !store.hasUnsavedTokens { SignalGuard.shared.drop(store) }
    }

    var isInterrupted: Bool { SignalGuard.shared.isInterrupted }
}

extension Duration {
    /// Rounded up.
    var wholeSeconds: Int64 { components.seconds + (components.attoseconds > 0 ? 1 : 0) }
}
