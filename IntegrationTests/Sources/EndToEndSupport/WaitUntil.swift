/// Waits for a condition that another process fulfills, by polling.
///
/// - Throws: `Unexpected` if the condition does not hold within two minutes, or `CancellationError` if the test runs
///   out of time.
func waitUntil(_ what: String, _ isSo: @Sendable () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(120)
    while try await !isSo() {
        try Task.checkCancellation()
        guard ContinuousClock.now < deadline else { throw Unexpected("timed out before \(what)") }
        await Task.yield()
    }
}
