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

    /// The lines of a pasted text arrive at once. After a line, more of the text may follow within so many milliseconds.
    private static let pasteTime: Int32 = 100

    /// Waits for a line, or for all lines of a pasted text, without blocking other tasks, until the task is cancelled; `nil` if
    /// the input has ended. In the background of a shell, this method reads nothing.
    func next() async throws -> [String]? {
        var lines: [String] = []
        while true {
            begin()
            let isTyping = Terminal.isInForeground && Terminal.hasInput(within: 0)
            if isTyping, let event = try type() {
                guard let line = try Self.line(event) else { return lines.isEmpty ? nil : lines }
                lines.append(line)
                try await Task.sleep(for: .milliseconds(Self.pasteTime))
            } else if !isTyping || !Terminal.hasInput(within: 0) {
                // Show a key soon after it is typed, without waking up often while the user does nothing.
                try await Task.sleep(for: .milliseconds(isTyping ? 10 : 80))
            }
            if isComplete(lines) { return lines }
            try Task.checkCancellation()
        }
    }

    /// Waits in the same way, and blocks the thread.
    func next(within limit: Duration) throws(AccountError) -> [String]? {
        let end = ContinuousClock.now + limit
        var lines: [String] = []
        while true {
            begin()
            if SignalGuard.shared.isInterrupted { throw Interruption.error }
            guard ContinuousClock.now < end else { throw Terminal.lateInput(limit) }
            // Limit the wait: a signal that arrives just before the call does not interrupt it.
            if Terminal.hasInput(within: lines.isEmpty ? 250 : Self.pasteTime), let event = try type() {
                guard let line = try Self.line(event) else { return lines.isEmpty ? nil : lines }
                lines.append(line)
                _ = Terminal.hasInput(within: Self.pasteTime)
            }
            if isComplete(lines) { return lines }
        }
    }

    /// Whether no further line belongs to a pasted text. A line that has begun belongs to it.
    private func isComplete(_ lines: [String]) -> Bool {
        !lines.isEmpty && !Terminal.hasInput(within: 0) && !state.withLock(\.editor.hasText)
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
