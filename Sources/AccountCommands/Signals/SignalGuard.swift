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

/// Delays signals that would end the process while a token exchange is in progress, so that new tokens are not lost.
///
/// The signals are SIGINT, SIGTERM, SIGHUP and SIGQUIT, unless the process handles or ignores them itself. On a
/// terminal, the guard shows what it is waiting for. A second Ctrl-C, at least a second after the first, ends the
/// process immediately.
package final class SignalGuard: ExchangeObserver {
    package static let shared = SignalGuard()

    private struct State {
        var exchanges = 0
        var waits = 0
        var deadline: ContinuousClock.Instant?

        /// Stores with an exchange in progress, or with new tokens that could not be saved yet.
        var stores: [AccountStore] = []
    }

    // Call the C functions only under this lock.
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

    /// The time until the last deadline of the exchanges in progress; `nil` if there are none.
    package var timeLeft: Duration? {
        state.withLock { state in state.deadline.map { max(ContinuousClock.now.duration(to: $0), .zero) } }
    }

    fileprivate func keep(_ store: AccountStore) {
        state.withLock { state in
            if !state.stores.contains(where: { $0 === store }) { state.stores.append(store) }
        }
    }

    fileprivate func drop(_ store: AccountStore) {
        state.withLock { $0.stores.removeAll { $0 === store } }
    }

    package func finishPendingRequests() async {
        await Waiting.toFinish(timeLeft) {
            while let store = state.withLock({ $0.stores.popLast() }) { await store.finishPendingRequests() }
        }
    }

    private static func notice(limit: Duration) -> String {
        Terminal.lineStart + "Finishing requests to the service first, for at most \(limit.wholeSeconds) s.\n"
    }

    /// Prints "Cancelled." if a signal ends the process during `body`.
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

    /// Restores the settings of a terminal if the process ends during `body`, even by a signal.
    func restoringTerminal<Result>(_ descriptor: Int32, _ body: () throws -> Result) rethrows -> Result {
        // If this fails, the settings are not restored after a signal. Ask anyway.
        state.withLock { _ in _ = accountkit_signals_remember_terminal(descriptor) }
        defer { state.withLock { _ in _ = accountkit_signals_remember_terminal(-1) } }
        return try body()
    }

    /// Makes a terminal pass on each key at once. The settings return with ``endTyping()``, or when the process ends.
    ///
    /// - Returns: `nil` if the terminal already does so.
    func beginTyping(on descriptor: Int32) -> LineEditor.Keys? {
        state.withLock { _ in
            var keys = accountkit_line_keys()
            guard accountkit_signals_begin_typing(descriptor, &keys) == 0 else { return nil }
            return LineEditor.Keys(
                erase: keys.erase, eraseWord: keys.erase_word, eraseLine: keys.erase_line, end: keys.end,
                areShown: keys.shows_input != 0)
        }
    }

    func endTyping() { state.withLock { _ in accountkit_signals_end_typing() } }

    package static func endProcessByClosedPipe() -> Never { accountkit_end_by_closed_pipe() }

    /// Handles a signal as if it had just arrived. Returns if the process handles or ignores the signal.
    package static func endProcess(by signal: Int32) { accountkit_signals_raise(signal) }

    static func interruptProcess() { accountkit_signals_raise(SIGINT) }
}

/// Delays signals while a store exchanges tokens, and retains the store until it has saved the tokens.
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
    package var wholeSeconds: Int64 { components.seconds + (components.attoseconds > 0 ? 1 : 0) }
}
