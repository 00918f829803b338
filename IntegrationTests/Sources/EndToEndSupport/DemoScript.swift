import Foundation
import Testing

/// The scripts of `make demo` and `make fleet-demo`.
enum DemoScript {
    /// Runs a script of `Examples`, and expects that it succeeds and leaves no files or processes.
    static func run(_ name: String) async throws {
        try await Container.run { container in
            let folder = container.path("tmp")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let demo = Command(
                words: ["bash", BuiltProducts.example(name), BuiltProducts.folder.path],
                environment: ["TMPDIR": folder, "HOME": container.path("user")])
            let outcome = try await demo.run()
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
            let running = try await Command(words: ["pgrep", "-f", "--", folder]).run()
            #expect(running.output == "", "all processes that the demo started have ended")
        }
    }
}
