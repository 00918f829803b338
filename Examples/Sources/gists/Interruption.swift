import AccountKit
import Dispatch
import Foundation
import Synchronization

/// Handles Ctrl-C while changes are sent. Before the process ends, it clears the progress line and stores pending
/// tokens.
struct Interruption {
    private let source: (any DispatchSourceSignal)?

    /// - Parameters:
    ///   - store: The store whose token requests may be pending.
    ///   - body: Tells the user.
    init(finishing store: AccountStore, _ body: @escaping @Sendable () -> Void) {
        var present = sigaction()
        // A process that runs in the background must not be interrupted.
        guard sigaction(SIGINT, nil, &present) == 0, !present.isIgnored else {
            source = nil
            return
        }
        let source = DispatchSource.makeSignalSource(signal: SIGINT)
        let isFirst = Mutex(true)
        source.setEventHandler {
            // The process ends soon, so a second Ctrl-C has no effect.
            let isRepeated = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return !isFirst
            }
            if isRepeated { return }
            body()
            Task {
                await store.finishPendingRequests()
                Self.endProcess()
            }
        }
        signal(SIGINT, SIG_IGN)
        source.resume()
        self.source = source
    }

    /// Ends the process by the signal, so that a shell recognizes Ctrl-C.
    private static func endProcess() -> Never {
        signal(SIGINT, SIG_DFL)
        // Threads of Dispatch block all signals.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(SIGINT)
        // A signal does not end the first process of a container (pid_namespaces(7)).
        _exit(130)
    }

    func end() {
        guard let source else { return }
        source.cancel()
        signal(SIGINT, SIG_DFL)
    }
}

extension sigaction {
    // C functions can be compared only by their address. A handler is always as large as a pointer.
    fileprivate var isIgnored: Bool {
        #if canImport(Darwin)
        unsafeBitCast(__sigaction_u.__sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        #else
        unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        #endif
    }
}
