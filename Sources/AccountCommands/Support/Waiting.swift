/// Shows the reason for a long wait to a user at a terminal.
package enum Waiting {
    /// Shows a message during a long wait. If the user cancels, prints "Cancelled."
    static func shown<Result>(
        for what: String, upTo limit: Duration, _ body: () async throws -> Result
    ) async rethrows -> Result {
        guard Terminal.isTerminal(.error) else { return try await body() }
        let time = "up to \(limit.wholeSeconds) s per request…"
        let text = "Waiting for \(what), \(time)"
        let fits = text.count < Terminal.size(of: .error).columns
        return try await SignalGuard.shared.whileWaiting {
            try await saying(fits ? text : "Waiting, \(time)", body)
        }
    }

    /// Shows a message while requests finish after the last output. `limit` is `nil` if no request is pending.
    package static func toFinish(_ limit: Duration?, _ body: () async -> Void) async {
        guard let limit, Terminal.isTerminal(.error) else { return await body() }
        await saying(
            "The service has not sent the new tokens yet. Waiting up to \(limit.wholeSeconds) s, so that your session "
                + "is not lost…", body)
    }

    private static func saying<Result>(
        _ text: String, _ body: () async throws -> Result
    ) async rethrows -> Result {
        let notice = Task {
            try await Task.sleep(for: .milliseconds(700))
            Terminal.say(text)
        }
        defer { notice.cancel() }
        return try await body()
    }
}
