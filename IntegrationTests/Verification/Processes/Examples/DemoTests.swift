@testable import EndToEndSupport
import Foundation
import Testing

/// Runs the scripts of `make demo` and `make fleet-demo`.
@Suite(.queued)
struct DemoTests {
    @Test(arguments: ["demo.sh", "fleet-demo.sh"])
    func `Each demo succeeds and leaves no files or processes`(_ script: String) async throws {
        try await Container.run { container in
            let folder = container.path("tmp")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let demo = Command(
                words: ["bash", BuiltProducts.example(script), BuiltProducts.folder.path],
                environment: ["TMPDIR": folder, "HOME": container.path("user")])
            let outcome = try await demo.run()
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
            let running = try await Command(words: ["pgrep", "-f", "--", folder]).run()
            #expect(running.output == "", "all processes that the demo started have ended")
        }
    }
}
