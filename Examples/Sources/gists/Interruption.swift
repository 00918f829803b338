import AccountKit
import Dispatch
import Foundation
import Synchronization

/// Ctrl-C, while changes are sent: it ends the process as always, but leaves neither half a line nor tokens that were not stored.
struct Interruption {
    private let source: (any DispatchSourceSignal)?

    /// - Parameters:
    ///   - store: Whose tokens may be on their way.
    ///   - body: Tells the user.
    init(finishing store: AccountStore, _ body: @escaping @Sendable () -> Void) {
        var present = sigaction()
        // Whoever runs it in the background does not want it interrupted.
        guard sigaction(SIGINT, nil, &present) == 0, !present.isIgnored else {
            source = nil
            return
        }
        let source = DispatchSource.makeSignalSource(signal: SIGINT)
        let isFirst = Mutex(true)
        source.setEventHandler {
            // The process ends soon, so a second Ctrl-C changes nothing.
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

    /// As Ctrl-C does, so that a shell knows what it was.
    private static func endProcess() -> Never {
        signal(SIGINT, SIG_DFL)
        // The threads of Dispatch block all signals.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(SIGINT)
        // The first process of a container is ended by no signal (pid_namespaces(7)).
        _exit(130)
    }

    func end() {
        guard let source else { return }
        source.cancel()
        signal(SIGINT, SIG_DFL)
    }
}

extension sigaction {
    // Handlers are functions of C, which cannot be compared but by their address; as large as a pointer they always are.
    fileprivate var isIgnored: Bool {
        #if canImport(Darwin)
        unsafeBitCast(__sigaction_u.__sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        #else
        unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        #endif
    }
}
