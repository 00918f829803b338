import AccountKit
import Synchronization

/// The lines that the user types or pastes on the terminal of standard input, of up to 64 KiB.
///
/// From the first wait until ``end()``, the terminal is not in canonical mode, in which it cuts a line at 4,095 bytes. When
/// the process ends in between, even by a signal, the terminal gets its settings back.
final class TypedLines: Sendable {
    private struct State {
        var editor = LineEditor(limit: Terminal.maximumByteCount)
        var isEnded = false
    }

    private let state: Mutex<State>

    init() {
        var state = State()
        // Until the echo is off, the terminal shows the keys itself.
        state.editor.keys.areShown = false
        self.state = Mutex(state)
    }

    deinit { end() }

    /// Starts to receive each key, in the foreground of a shell. Call this before a message asks for input, so that the user
    /// can't paste before. In the background, the system would stop the process.
    func begin() {
        guard Terminal.isInForeground else { return }
        state.withLock { state in
            // A shell sets its own mode while the process is stopped, and this process sets its mode again.
            guard !state.isEnded, let keys = SignalGuard.shared.beginTyping(on: Terminal.Stream.input.rawValue) else {
                return
            }
            state.editor.keys = keys
        }
    }

    func end() {
        state.withLock { state in
            guard !state.isEnded else { return }
            state.isEnded = true
            SignalGuard.shared.endTyping()
        }
    }

    /// Waits for a line without blocking other tasks, until the task is cancelled; `nil` if the input has ended. In the
    /// background of a shell, this method reads nothing.
    func next() async throws -> String? {
        while true {
            begin()
            let isTyping = Terminal.isInForeground && Terminal.hasInput(within: 0)
            if isTyping, let event = try type() { return try Self.line(event) }
            // Show a key soon after it is typed, without waking up often while the user does nothing.
            if !isTyping || !Terminal.hasInput(within: 0) {
                try await Task.sleep(for: .milliseconds(isTyping ? 10 : 80))
            }
            try Task.checkCancellation()
        }
    }

    /// Waits for a line, and blocks the thread; `nil` if the input has ended.
    func next(within limit: Duration) throws(AccountError) -> String? {
        let end = ContinuousClock.now + limit
        while true {
            begin()
            if SignalGuard.shared.isInterrupted { throw Interruption.error }
            guard ContinuousClock.now < end else { throw Terminal.lateInput(limit) }
            // Limit the wait: a signal that arrives just before the call does not interrupt it.
            guard Terminal.hasInput(within: 250) else { continue }
            if let event = try type() { return try Self.line(event) }
        }
    }

    /// Reads the keys that have arrived, up to the end of the line, so that the input after it is not consumed.
    private func type() throws(AccountError) -> LineEditor.Event? {
        var echo: [UInt8] = []
        defer { Terminal.showInput(echo) }
        repeat {
            guard let key = try Terminal.readByte() else { return .end }
            let (event, output) = state.withLock { state in
                let event = state.editor.type(key)
                return (event, state.editor.keys.areShown ? state.editor.echo : [])
            }
            echo += output
            if let event { return event }
        } while Terminal.hasInput(within: 0) && echo.count < 4096
        return nil
    }

    private static func line(_ event: LineEditor.Event) throws(AccountError) -> String? {
        switch event {
        case .line(let line): line
        case .tooLong: throw Terminal.tooLongInput
        case .end: nil
        }
    }
}
