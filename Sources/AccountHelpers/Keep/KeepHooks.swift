import AccountCommands
import AccountKit

/// Runs the hook for events of a token file, one at a time. The hook gets no secret of this process, but it can read
/// the file.
final class KeepHooks: Sendable {
    enum Event: String, Sendable {
        case written
        case removed
        /// The user must act, for example sign in.
        case attention
    }

    private let continuation: AsyncStream<Event>.Continuation
    private let running: Task<Void, Never>

    /// `command` is a shell command line; `nil` for none.
    init(
        _ command: String?, prefix: String, session: SessionName,
        say: @escaping @Sendable (String) -> Void
    ) {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        self.continuation = continuation
        running = Task {
            for await event in events {
                guard let command else { continue }
                if let problem = await Self.run(command, event, prefix, session) { say(problem) }
            }
        }
    }

    func run(_ event: Event) { continuation.yield(event) }

    func finish(within limit: Duration) async {
        continuation.finish()
        await withTaskGroup { group in
            group.addTask { [running] in await running.value }
            group.addTask { [running] in
                // A cancelled sleep ends the wait too.
                try? await Task.sleep(for: limit)
                running.cancel()
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// - Returns: An error message; `nil` if the hook succeeded.
    private static func run(
        _ command: String, _ event: Event, _ prefix: String, _ session: SessionName
    ) async -> String? {
        do {
            let end = try await ExternalProgram.runShell(
                command, setting: [prefix + "_SESSION": session.rawValue, prefix + "_EVENT": event.rawValue],
                hiding: ServiceManager.variables)
            return end.map { "the hook for \(event.rawValue) failed (\($0))" }
        } catch {
            return "the hook for \(event.rawValue) cannot be run: \(error.userText)"
        }
    }
}
