@testable import EndToEndSupport
import Testing

/// `make demo`, which is the first command that many readers run.
@Suite(.queued)
struct DemoTests {
    @Test func `The demo succeeds and leaves no files or processes`() async throws {
        try await DemoScript.run("demo.sh")
    }
}
