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
        /// Types the same again and again until the command has ended. Always the last step.
        case insist(String)
        /// Types what is in a file, as soon as there is one.
        case typeFile(String)
        /// Sends the command a signal.
        case signal(Int32)
        /// Waits until there is a file.
        case appears(String)
        /// Makes a file, which tells someone who waits for it what has been on the screen so far.
        case tell(String)
        /// Waits until a line of the screen fits a pattern.
        case find(String)

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
            case .insist(let text): "insist:" + text
            case .signal(let number): "signal:\(number)"
            case .typeFile(let path): "type-file:" + path
            case .appears(let path): "appears:" + path
            case .tell(let path): "tell:" + path
            case .find(let pattern): "find:" + pattern
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

    static func run(_ command: Command, columns: Int? = nil, _ steps: Step...) async throws -> Session {
        try await run(command, columns: columns, steps)
    }

    /// - Parameter columns: How wide the terminal is.
    static func run(_ command: Command, columns: Int? = nil, _ steps: [Step]) async throws -> Session {
        let size = columns.map { ["columns:\($0)"] } ?? []
        let player = ["python3", "-B", BuiltProducts.fixture("terminal.py")] + size + steps.map(\.word) + ["--"]
        let outcome = try await Command(words: player + command.words, environment: command.environment).run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return try JSONDecoder().decode(Session.self, from: Data(outcome.output.utf8))
    }
}
