/// Waits until something holds that another process brings about, asking again and again.
///
/// - Throws: `Unexpected` when it does not hold within two minutes, and `CancellationError` when the test has no time left.
func waitUntil(_ what: String, _ isSo: @Sendable () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(120)
    while try await !isSo() {
        try Task.checkCancellation()
        guard ContinuousClock.now < deadline else { throw Unexpected("timed out before \(what)") }
        await Task.yield()
    }
}
