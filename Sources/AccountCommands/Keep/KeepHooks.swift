import AccountKit
import Subprocess

/// What is run when something happens to a kept file: one after the other, so that they never meet.
///
/// They get no token and no key: what they need is in the file.
final class KeepHooks: Sendable {
    enum Event: String, Sendable {
        /// The file has a new token.
        case written
        /// The file is gone.
        case removed
        /// A person has to do something, such as sign in.
        case attention
    }

    private let continuation: AsyncStream<Event>.Continuation
    private let running: Task<Void, Never>

    /// - Parameters:
    ///   - command: A line for the shell; `nil` is none.
    ///   - prefix: What the variables begin with that it gets.
    ///   - session: Whose file it is.
    ///   - hidden: Environment variables that it does not get.
    ///   - say: Gets what went wrong.
    init(
        _ command: String?, prefix: String, session: SessionName, hiding hidden: [String],
        say: @escaping @Sendable (String) -> Void
    ) {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        self.continuation = continuation
        running = Task {
            for await event in events {
                guard let command else { continue }
                if let problem = await Self.run(command, event, prefix, session, hidden) { say(problem) }
            }
        }
    }

    func run(_ event: Event) { continuation.yield(event) }

    /// Waits until all have been run, but not for one that hangs.
    func finish(within limit: Duration) async {
        continuation.finish()
        await withTaskGroup { group in
            group.addTask { [running] in await running.value }
            group.addTask { [running] in
                // Cancelled is as good as over.
                try? await Task.sleep(for: limit)
                running.cancel()
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// - Returns: What went wrong, if anything did.
    private static func run(
        _ command: String, _ event: Event, _ prefix: String, _ session: SessionName, _ hidden: [String]
    ) async -> String? {
        var changes: [Subprocess.Environment.Key: String?] = [
            .init(stringLiteral: prefix + "_SESSION"): session.rawValue,
            .init(stringLiteral: prefix + "_EVENT"): event.rawValue,
        ]
        for name in hidden { changes[.init(stringLiteral: name)] = String?.none }
        do {
            let result = try await Subprocess.run(
                .name("sh"), arguments: ["-c", command], environment: .inherit.updating(changes), input: .none,
                output: .currentStandardError, error: .currentStandardError)
            return result.terminationStatus.isSuccess
                ? nil : "the hook for \(event.rawValue) failed (\(result.terminationStatus))"
        } catch {
            return "the hook for \(event.rawValue) could not be run: \(error)"
        }
    }
}
