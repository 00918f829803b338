import Foundation

/// A command on a terminal, with someone in front of it; see `Fixtures/terminal.py`.
enum Terminal {
    /// What that person does.
    enum Step {
        /// Waits until a text has come.
        case wait(String)
        /// Waits until typing does not show.
        case silent
        /// Fails unless typing does not show already.
        case silentNow
        /// Types.
        case type(String)
        /// Sends the command a signal.
        case signal(Int32)

        static let controlC = Step.type("\\x03")
        static let controlD = Step.type("\\x04")
        static let controlU = Step.type("\\x15")
        static let backspace = Step.type("\\x7f")
        static let enter = Step.type("\\r")

        fileprivate var word: String {
            switch self {
            case .wait(let text): "wait:" + text
            case .silent: "silent"
            case .silentNow: "silent-now"
            case .type(let text): "type:" + text
            case .signal(let number): "signal:\(number)"
            }
        }
    }

    /// What is there at the end.
    struct Session: Decodable {
        /// All that was to be seen.
        let screen: String
        /// Whether typing shows.
        let echo: Bool
        private let status: Int32

        /// The exit code as a shell has it.
        var exitCode: Int32 { status < 0 ? 128 - status : status }

        /// The signal that ended it; `nil` if it ended by itself.
        var signal: Int32? { status < 0 ? -status : nil }
    }

    static func run(_ command: Command, columns: Int = 80, _ steps: Step...) async throws -> Session {
        let player =
            ["python3", "-B", BuiltProducts.fixture("terminal.py"), "columns:\(columns)"] + steps.map(\.word) + ["--"]
        let outcome = try await Command(words: player + command.words, environment: command.environment).run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return try JSONDecoder().decode(Session.self, from: Data(outcome.output.utf8))
    }
}
