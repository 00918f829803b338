import Foundation
import Synchronization
import Terminal

/// Shows the progress of a long operation on standard error. On a terminal, the progress is a bar in one line, which
/// disappears at the end. Elsewhere, the progress is an occasional plain line.
final class ProgressLine: Sendable {
    private enum Form { case bar, lines, none }

    private let form: Form
    private struct State {
        var isOver = false
        /// The number of sent changes when the progress was last shown.
        var lastCount: Int?
    }

    private let state = Mutex(State())

    init(isSilent: Bool) {
        let canErase = isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
        form = isSilent ? .none : canErase ? .bar : .lines
    }

    func show(sent: Int, of count: Int) {
        guard count > 0 else { return }
        switch form {
        case .none: break
        case .bar: rewrite(Self.bar(sent, of: count, columns: Self.columns))
        case .lines:
            // The number stays the same after a change that fails.
            let isNew = state.withLock { state in
                defer { state.lastCount = sent }
                return state.lastCount != sent
            }
            guard isNew else { return }
            if sent == 0 { Output.say("Sending \(count) change\(count == 1 ? "" : "s").") }
            if sent > 0, sent < count, sent.isMultiple(of: 10) { Output.say("Sent \(sent) of \(count).") }
        }
    }

    /// Shows the current step on a terminal.
    func show(_ text: String) {
        if form == .bar { rewrite(String(text.shown.prefix(Self.columns - 1))) }
    }

    /// Clears the line, and ignores all later updates.
    func end() {
        rewrite("")
        state.withLock { $0.isOver = true }
    }

    private func rewrite(_ text: String) {
        guard form == .bar else { return }
        state.withLock { state in
            // Return to the start of the line, and erase it (CSI K: ECMA-48, section 8.3.41). A closed standard error
            // is not an error.
            if !state.isOver { try? FileHandle.standardError.write(contentsOf: Data("\r\u{1B}[K\(text)".utf8)) }
        }
    }

    /// The bar fits in one line and leaves the last column empty, since some terminals start a new line there.
    static func bar(_ sent: Int, of count: Int, columns: Int) -> String {
        let text = "\(sent) of \(count)"
        let width = min(30, columns - 1 - "Sending [] ".count - text.count)
        guard width >= 5 else { return String(text.prefix(columns - 1)) }
        let filled = width * sent / count
        return
            "Sending [\(String(repeating: "#", count: filled))\(String(repeating: ".", count: width - filled))] \(text)"
    }

    /// The width of the window, read each time because the user may resize the window.
    private static var columns: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 1 else { return 80 }
        return Int(size.ws_col)
    }
}
