/// Says what is being waited for, if it takes a while and someone is watching.
enum Waiting {
    static func shown<Result: Sendable>(
        for what: String, upTo limit: Duration, _ body: () async -> Result
    ) async -> Result {
        guard Terminal.isTerminal(.error) else { return await body() }
        let notice = Task {
            try await Task.sleep(for: .milliseconds(700))
            Terminal.writeLine("Waiting for \(what), up to \(limit.components.seconds) s a request…", to: .error)
        }
        defer { notice.cancel() }
        return await body()
    }
}
