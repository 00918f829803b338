import Foundation

/// A command on a terminal, with a simulated user; see `Fixtures/terminal.py`.
enum Terminal {
    /// An action of the user.
    enum Step {
        /// Waits until a string appears.
        case wait(String)
        /// Waits until echo is off.
        case silent
        /// Fails unless echo is already off.
        case silentNow
        /// Types text.
        case type(String)
        /// Types the same text repeatedly until the command ends. Always the last step.
        case insist(String)
        /// Waits for a file, and types its content.
        case typeFile(String)
        /// Sends the command a signal.
        case signal(Int32)
        /// Waits until a file exists.
        case appears(String)
        /// Writes the screen's text so far to a file, for a test that waits for the file.
        case tell(String)
        /// Waits until a line of the screen matches a pattern.
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

    /// The result of the session.
    struct Session: Decodable {
        /// Everything that the terminal showed, without colors.
        var screen: String { rawScreen.replacing(/\u{1b}\[[0-9;]*m/, with: "") }
        /// Everything that the terminal showed.
        let rawScreen: String
        /// Whether echo is on.
        let echo: Bool
        /// Whether the terminal edits lines itself.
        let isCanonical: Bool
        private let status: Int32

        private enum CodingKeys: String, CodingKey {
            case rawScreen = "screen"
            case echo, status
            case isCanonical = "canonical"
        }

        /// The exit code as a shell reports it.
        var exitCode: Int32 { status < 0 ? 128 - status : status }

        /// The signal that ended the command, or `nil` if it exited.
        var signal: Int32? { status < 0 ? -status : nil }
    }

    static func run(_ command: Command, columns: Int? = nil, _ steps: Step...) async throws -> Session {
        try await run(command, columns: columns, steps)
    }

    /// - Parameter columns: The width of the terminal.
    static func run(_ command: Command, columns: Int? = nil, _ steps: [Step]) async throws -> Session {
        let size = columns.map { ["columns:\($0)"] } ?? []
        let player = ["python3", "-B", BuiltProducts.fixture("terminal.py")] + size + steps.map(\.word) + ["--"]
        let outcome = try await Command(words: player + command.words, environment: command.environment).run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return try JSONDecoder().decode(Session.self, from: Data(outcome.output.utf8))
    }
}
