import Foundation
import Synchronization
import Terminal

/// How far something is that takes a while, on standard error: on a terminal a bar in one line, which is gone at the end; elsewhere a
/// plain line now and then.
final class ProgressLine: Sendable {
    private enum Form { case bar, lines, none }

    private let form: Form
    private let isOver = Mutex(false)

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
            if sent == 0 { Output.say("Sending \(count) change\(count == 1 ? "" : "s").") }
            if sent > 0, sent < count, sent.isMultiple(of: 10) { Output.say("Sent \(sent) of \(count).") }
        }
    }

    /// Says what is done now, while somebody watches.
    func show(_ text: String) {
        if form == .bar { rewrite(String(text.shown.prefix(Self.columns - 1))) }
    }

    /// Leaves an empty line, and shows nothing from now on.
    func end() {
        rewrite("")
        isOver.withLock { $0 = true }
    }

    private func rewrite(_ text: String) {
        guard form == .bar else { return }
        isOver.withLock { isOver in
            // Back to the start of the line, and erase it (CSI K: ECMA-48, section 8.3.41). It is no error if nobody can read it.
            if !isOver { try? FileHandle.standardError.write(contentsOf: Data("\r\u{1B}[K\(text)".utf8)) }
        }
    }

    /// Fits in one line, with the last column left free, where some terminals begin a new one.
    static func bar(_ sent: Int, of count: Int, columns: Int) -> String {
        let text = "\(sent) of \(count)"
        let width = min(30, columns - 1 - "Sending [] ".count - text.count)
        guard width >= 5 else { return String(text.prefix(columns - 1)) }
        let filled = width * sent / count
        return
            "Sending [\(String(repeating: "#", count: filled))\(String(repeating: ".", count: width - filled))] \(text)"
    }

    /// Asked each time: the window may have another size by now.
    private static var columns: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 1 else { return 80 }
        return Int(size.ws_col)
    }
}
