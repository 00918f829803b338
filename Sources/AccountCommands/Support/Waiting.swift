/// Says what is being waited for, if it takes a while and someone is watching.
enum Waiting {
    /// While the service is asked.
    static func shown<Result: Sendable>(
        for what: String, upTo limit: Duration, _ body: () async -> Result
    ) async -> Result {
        await saying({ "Waiting for \(what), up to \(limit.wholeSeconds) s a request…" }, body)
    }

    /// While something is finished that the command has no more to say of.
    ///
    /// - Parameter limit: How long that may take; `nil` if there is nothing to finish.
    static func toFinish(_ limit: Duration?, _ body: () async -> Void) async {
        guard let limit else { return await body() }
        await saying(
            {
                "The service has not sent your new tokens yet. Waiting for them up to \(limit.wholeSeconds) s, so that your "
                    + "sign-in is not lost…"
            }, body)
    }

    private static func saying<Result: Sendable>(
        _ text: @escaping @Sendable () -> String, _ body: () async -> Result
    ) async -> Result {
        guard Terminal.isTerminal(.error) else { return await body() }
        let notice = Task {
            try await Task.sleep(for: .milliseconds(700))
            Terminal.say(text())
        }
        defer { notice.cancel() }
        return await body()
    }
}
