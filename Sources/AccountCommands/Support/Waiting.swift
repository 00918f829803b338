/// Tells someone who is watching what a long wait is for.
enum Waiting {
    /// If a person gives up, "Cancelled." is printed.
    static func shown<Result>(
        for what: String, upTo limit: Duration, _ body: () async throws -> Result
    ) async rethrows -> Result {
        guard Terminal.isTerminal(.error) else { return try await body() }
        let time = "up to \(limit.wholeSeconds) s a request…"
        let text = "Waiting for \(what), \(time)"
        let fits = text.count < Terminal.size(of: .error).columns
        return try await SignalGuard.shared.whileWaiting {
            try await saying(fits ? text : "Waiting, \(time)", body)
        }
    }

    /// For what is finished after the command's last output.
    ///
    /// - Parameter limit: How long that may take; `nil` if there is nothing to finish.
    static func toFinish(_ limit: Duration?, _ body: () async -> Void) async {
        guard let limit, Terminal.isTerminal(.error) else { return await body() }
        await saying(
            "The service has not sent the new tokens yet. Waiting for them up to \(limit.wholeSeconds) s, so that your sign-in "
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
