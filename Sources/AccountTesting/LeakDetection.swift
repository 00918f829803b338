public import AccountKit
import InMemoryLogging
public import Logging
public import Testing

/// Runs `body` with a logger for all levels, and records an issue for each line that contains a secret or the first
/// eight characters of a secret.
public func expectNoLeak<Result>(
    of secrets: [Secret], sourceLocation: SourceLocation = #_sourceLocation,
    during body: (Logger) async throws -> Result
) async rethrows -> Result {
    let recorder = InMemoryLogHandler()
    var logger = Logger(label: "leak detection") { _ in recorder }
    logger.logLevel = .trace
    let result = try await body(logger)
    for entry in recorder.entries {
        let line = "\(entry.level) \(entry.message) \(entry.metadata) \(entry.error as Any)"
        expectNoLeak(of: secrets, in: line, sourceLocation: sourceLocation)
    }
    return result
}

/// Records an issue if `text` contains a secret or the first eight characters of a secret.
package func expectNoLeak(
    of secrets: [Secret], in text: String, sourceLocation: SourceLocation = #_sourceLocation
) {
    for secret in secrets where text.contains(secret.reveal().prefix(8)) {
        // The report does not quote the text, which contains the secret.
        Issue.record("a secret appears in a string of \(text.count) characters", sourceLocation: sourceLocation)
    }
}
