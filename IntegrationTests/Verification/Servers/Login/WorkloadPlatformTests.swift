@testable import EndToEndSupport
import Foundation
import Testing

/// The stand-ins for platforms of workloads, with the programs that use the real platforms.
@Suite(.queued)
struct WorkloadPlatformTests {
    @Test func `The stand-in for GitHub Actions also serves the Python package id`() async throws {
        try await Container.run { container in
            let python = try await PythonEnvironment.prepare("workload", importing: "id", in: container)
            try await WorkloadPlatform.runGitHub(for: Tool.account(in: container)) { account in
                let environment = account.environment.merging(["GITHUB_ACTIONS": "true"]) { $1 }
                let words = [python, "-m", "id", "https://login.example.com"]
                let printed = try await Command(words: words, environment: environment).run()
                #expect(printed.exitCode == 0, "\(printed)")
                let issued = try claims(of: printed.output.trimmingCharacters(in: .newlines))
                #expect(issued["aud"] == .text("https://login.example.com"))
                let rejected = environment.merging(["ACTIONS_ID_TOKEN_REQUEST_TOKEN": "another"]) { $1 }
                #expect(try await Command(words: words, environment: rejected).run().exitCode != 0)
            }
        }
    }
}
